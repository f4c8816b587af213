// SPDX-License-Identifier: MIT
#include "transform/wide/wide_list.h"

#include "transform/registry.h"

static const char *form_name(struct image_form form)
{
	return form.type == IMAGE_UINT16 ? "uint16" : "float32";
}

/* Find ReadAs, which stands first. */
static int find_reads(struct transform_list *list, struct fault *fault)
{
	for (unsigned i = 0; i < list->count; i++) {
		const struct transform *transform = &list->pictures[i];
		if (!transform->row->reads)
			continue;
		if (i > 0)
			return fault_say(
				fault, TRANSFORM_LIST_E_TRANSFORM,
				"transforms: %s says how files are read: put it first, and "
				"once",
				transform->row->name);
		list->wide = transform->row->reads(transform);
	}
	return 0;
}

static int check_dtype(const struct transform_list *list, enum output_type type,
		       struct fault *fault)
{
	if (type == OUTPUT_UINT8)
		return fault_say(fault, TRANSFORM_LIST_E_TRANSFORM,
				 "dtype: pictures that are read as %s do not fit into uint8: take "
				 "float32, float16, bfloat16%s",
				 form_name(list->wide),
				 list->wide.type == IMAGE_UINT16 ? " or uint16" : "");
	if (type == OUTPUT_UINT16 && list->wide.type == IMAGE_FLOAT32)
		return fault_say(fault, TRANSFORM_LIST_E_TRANSFORM,
				 "dtype: pictures that are read as float32 do not fit into uint16: "
				 "take float32, float16 or bfloat16");
	return 0;
}

static int refuse(const struct transform_list *list, const struct transform_row *row,
		  struct fault *fault)
{
	return fault_say(fault, TRANSFORM_LIST_E_TRANSFORM,
			 "transforms: %s works on pictures of 8 bits, and these are read as %s "
			 "(ReadAs, dtype uint16), which resizes, crops, flips, pads and Normalize "
			 "can take: leave it out",
			 row->name, form_name(list->wide));
}

int wide_list_check(struct transform_list *list, enum output_type type, struct fault *fault)
{
	int r = find_reads(list, fault);
	if (r == 0 && type == OUTPUT_UINT16 && !list->wide.type)
		list->wide = (struct image_form){IMAGE_UINT16, 0};
	if (r || !list->wide.type)
		return r;
	r = check_dtype(list, type, fault);
	for (unsigned i = 0; i < list->count && r == 0; i++)
		if (!list->pictures[i].row->wide)
			r = refuse(list, list->pictures[i].row, fault);
	if (r == 0 && list->tensor_op_count)
		r = refuse(list, list->tensor_ops[0].row, fault);
	return r || !list->wide.channels
		       ? r
		       : wide_list_check_channels(list, list->wide.channels, fault);
}

static bool is_one_number(const double *number)
{
	return number[1] == number[0] && number[2] == number[0];
}

int wide_list_check_channels(const struct transform_list *list, uint32_t channels,
			     struct fault *fault)
{
	static const char words[] = "transforms: %s of %s has a number for each of 3 channels, and "
				    "the pictures have %u: give one number";
	if (channels == 3)
		return 0;
	for (unsigned i = 0; i < list->count; i++) {
		const struct transform *transform = &list->pictures[i];
		int at = transform_find(transform, PARAMETER_FILL);
		if (at >= 0 && !is_one_number(transform->values[at].number))
			return fault_say(fault, TRANSFORM_LIST_E_TRANSFORM, words, "'fill'",
					 transform->row->name, channels);
	}
	const struct parameter *values = list->normalize.values;
	for (int i = 0; i < 2 && list->normalized; i++)
		if (!is_one_number(values[i].number))
			return fault_say(fault, TRANSFORM_LIST_E_TRANSFORM, words,
					 i ? "'std'" : "'mean'", "Normalize", channels);
	return 0;
}
