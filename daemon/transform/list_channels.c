// SPDX-License-Identifier: MIT
#include "transform/list_channels.h"

#include "transform/axis.h"
#include "transform/registry.h"

/* A colour to fill with, for what has one channel. */
static int check_gray_fill(const struct transform *transform, struct fault *fault)
{
	int at = transform_find(transform, PARAMETER_FILL);
	const double *number = transform->values[at < 0 ? 0 : at].number;
	if (at < 0 || (number[1] == number[0] && number[2] == number[0]))
		return 0;
	return fault_say(fault, TRANSFORM_LIST_E_TRANSFORM,
			 "transforms: the 'fill' of %s has 3 channels, and Grayscale leaves one: "
			 "give one number",
			 transform->row->name);
}

/* Check the channels at the end, which are up to the last Grayscale. Inside of a transform that may
 * leave it out, samples would differ in them. */
static int check_gray(struct transform_list *list, struct fault *fault)
{
	for (unsigned i = 0, sure = 0; i < list->count; i++) {
		const struct transform *transform = &list->pictures[i];
		bool always = i >= sure; /* not inside of such */
		if (always && transform->row->holds != TRANSFORM_HOLDS_ALL)
			sure = i + 1 + transform->behind;
		if (list->gray && check_gray_fill(transform, fault))
			return TRANSFORM_LIST_E_TRANSFORM;
		if (!transform->row->channels)
			continue;
		bool single = transform->row->channels(transform) == 1;
		if (always)
			list->gray = single;
		else if (single)
			return fault_say(
				fault, TRANSFORM_LIST_E_TRANSFORM,
				"transforms: a %s inside of another transform must leave three "
				"channels (num_output_channels 3), or samples would differ",
				transform->row->name);
	}
	/* A mosaic, which would be the last, takes any. */
	if (list->gray && list->tensor_op_count > 0 && !list->tensor_ops[0].row->meet)
		return fault_say(fault, TRANSFORM_LIST_E_TRANSFORM,
				 "transforms: %s needs three channels: give Grayscale "
				 "num_output_channels 3",
				 list->tensor_ops[0].row->name);
	for (int i = 1; i < 3 && list->gray && list->normalized; i++) {
		const struct parameter *values = list->normalize.values;
		if (values[0].number[i] != values[0].number[0] ||
		    values[1].number[i] != values[1].number[0])
			return fault_say(
				fault, TRANSFORM_LIST_E_TRANSFORM,
				"transforms: Normalize has 3 channels and Grayscale leaves "
				"one: give mean and std one number each");
	}
	return 0;
}

/* Check that pictures with alpha are only resized. */
static int check_alpha(struct transform_list *list, struct fault *fault)
{
	const struct transform *generator = &list->tensor_ops[0];
	if (list->tensor_op_count == 0 || !generator->row->generate ||
	    generator->row->channels(generator) != 4)
		return 0;
	for (unsigned i = 0; i < list->count; i++) {
		const struct transform *transform = &list->pictures[i];
		if (!transform->row->resizes || i > 0)
			return fault_say(fault, TRANSFORM_LIST_E_TRANSFORM,
					 "transforms: %s stands before %s with color_mode 'rgba', "
					 "before which one Resize or AspectResize may stand and "
					 "nothing else",
					 transform->row->name, generator->row->name);
		int filter = transform_find(transform, PARAMETER_CHOICE);
		list->filtered = transform->values[filter].number[0] != FILTER_NEAREST;
	}
	list->alpha = true;
	return 0;
}

int list_channels_check(struct transform_list *list, struct fault *fault)
{
	int r = check_gray(list, fault);
	return r ? r : check_alpha(list, fault);
}
