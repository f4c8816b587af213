// SPDX-License-Identifier: MIT
#include "loop/protocol/fit_plan.h"

#include "loop/protocol/attach_arguments.h"
#include "proto/message.h"
#include "statistics/statistics.h"
#include "transform/pipeline.h"

/* A value that may be left out. */
static bool take_number(const struct value *value, double standard, double *out)
{
	*out = standard;
	return value_kind(value) == VALUE_NIL || value_number(value, out);
}

int fit_plan_take(struct statistics_plan *plan, const struct message_fit *message,
		  struct fault *fault)
{
	struct text name = message->name;
	if (name.size == 0)
		name = (struct text){"default", 7};
	plan->per_pixel = message->per_pixel;
	plan->whitens = message->zca;
	if (attach_resize(message->resize, fault) < 0)
		return 1;
	if (statistics_name(plan->name, name.data, name.size, fault))
		return 1;
	if (!take_number(message->rescale.value, 1.0, &plan->rescale) || plan->rescale == 0.0 ||
	    !(plan->rescale > -1e6 && plan->rescale < 1e6))
		return fault_say(fault, 1,
				 "rescale must be a number between -1e6 and 1e6, and not 0");
	if (!take_number(message->zca_epsilon.value, 1e-6, &plan->epsilon) ||
	    !(plan->epsilon > 0.0 && plan->epsilon <= 1e6))
		return fault_say(fault, 1, "zca_epsilon must be a number above 0 and at most 1e6");
	return 0;
}

int fit_plan_take_pictures(struct pipeline **out, const struct message_fit *message,
			   struct fault *fault)
{
	static const struct text bytes = {"uint8", 5}, layout = {"NHWC", 4};
	struct pipeline *pipeline;
	int r = pipeline_new(&pipeline, message->transforms.value, bytes, layout, fault);
	if (r)
		return r;
	r = pipeline_allow(pipeline, false, attach_resize(message->resize, fault) == 1);
	const char *random = pipeline_random(pipeline);
	if (r == 0 && random)
		r = fault_say(fault, 1,
			      "transforms: statistics are of pictures as they are, without %s: "
			      "Resize, CenterCrop, Pad, Grayscale and Compose may stand here",
			      random);
	if (r)
		pipeline_free(pipeline);
	else
		*out = pipeline;
	return r;
}
