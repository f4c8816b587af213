// SPDX-License-Identifier: MIT
/* A pipeline of wide pictures: their form. */
#include "transform/pipeline.h"
#include "transform/pipeline_parts.h"
#include "transform/wide/wide_list.h"

struct image_form pipeline_form(const struct pipeline *pipeline)
{
	return pipeline->list.wide;
}

static int settle_crop_channels(struct pipeline *pipeline, const void *channels,
				struct fault *fault)
{
	return pipeline_settle_channels(pipeline, *(const uint32_t *)channels, fault);
}

int pipeline_settle_channels(struct pipeline *pipeline, uint32_t channels, struct fault *fault)
{
	struct image_form *form = &pipeline->list.wide;
	struct fault why;
	if (!form->type || form->channels)
		return 0;
	if (channels == 0)
		return fault_say(
			fault, PIPELINE_E_TRANSFORM,
			"transforms: none of the pictures that were looked at says how many "
			"channels they have: give ReadAs(dtype, channels)");
	form->channels = channels;
	if (pipeline->crops)
		return crops_each(pipeline->crops, settle_crop_channels, &channels, fault);
	if (wide_list_check_channels(&pipeline->list, channels, &why))
		return fault_say(fault, PIPELINE_E_TRANSFORM, "%s", why.text);
	return pipeline->list.sized ? pipeline_finish(pipeline, fault) : 0;
}
