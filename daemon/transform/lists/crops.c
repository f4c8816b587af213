// SPDX-License-Identifier: MIT
#include "transform/lists/crops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "proto/pack.h"
#include "transform/pipeline_parts.h"
#include "transform/registry.h"

static bool is_crops(const struct value *map)
{
	return text_equals(value_text(value_get(map, "name")), "Crops");
}

bool crops_find(const struct value *transforms)
{
	uint32_t count = value_kind(transforms) == VALUE_LIST ? value_count(transforms) : 0, at = 0;
	while (at < count && !is_crops(value_item(transforms, at)))
		at++;
	return at < count;
}

/* Check the name of a field: a word, and none that all samples have besides the image. */
static bool is_name(struct text name)
{
	for (size_t i = 0; i < name.size; i++) {
		char c = name.data[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
		if (!letter && (i == 0 || c < '0' || c > '9'))
			return false;
	}
	return name.size > 0 && name.size < CROPS_NAME_MAX && !text_equals(name, "label") &&
	       !text_equals(name, "index");
}

/* NULL, or what the list has that makes no images of a sample alone. */
static const char *barred(const struct transform_list *list)
{
	const struct transform_row *op =
		list->tensor_op_count ? list->tensor_ops[list->tensor_op_count - 1].row : NULL;
	if (list->sizes)
		return "Buckets chooses one size for the whole sample";
	if (list->views > 1)
		return "FiveCrop and TenCrop make views of their own";
	if (list->boxed)
		return "the boxes of a sample would belong to one of its images only";
	if (list->padded)
		return "Pad(to=...) says which part is picture, of one image";
	if (op && transform_row_joins(op))
		return "MixUp, CutMix and Mosaic mix whole samples";
	if (op && list->tensor_ops[0].row->generate)
		return "ImageDataGenerator makes one array of a picture";
	return NULL;
}

/* Put the name of the list in front of what is wrong with its pipeline. Returns `code`. */
static int crop_fault(const struct crop *crop, int code, const struct fault *why,
		      struct fault *fault)
{
	return fault_say(fault, code, "Crops '%s': %s", crop->name, why->text);
}

/* Check one map {name, count, transforms} and add it. */
static int crops_add(struct crops *crops, const struct value *map, const struct crop_maker *maker,
		     struct fault *fault)
{
	struct quote quote;
	struct fault why;
	struct crop *crop = &crops->crop[crops->count];
	const struct value *transforms = value_get(map, "transforms");
	struct text name = value_text(value_get(map, "name"));
	const uint64_t count = value_uint(value_get(map, "count"));
	if (!is_name(name))
		return fault_say(fault, CROPS_E_VALUE,
				 "Crops: '%s' is no name of a field: 1 to %d letters, digits or _, "
				 "a letter first, and neither label nor index",
				 quote_bytes(&quote, name.data, name.size), CROPS_NAME_MAX - 1);
	text_copy(crop->name, sizeof(crop->name), name);
	for (uint32_t i = 0; i < crops->count; i++)
		if (strcmp(crops->crop[i].name, crop->name) == 0)
			return fault_say(fault, CROPS_E_VALUE,
					 "Crops: '%s' comes twice: give one another name",
					 crop->name);
	if (value_kind(map) != VALUE_MAP || value_count(map) != 3 || count == 0 ||
	    count > CROPS_VIEWS_MAX - crops->views)
		return fault_say(fault, CROPS_E_VALUE,
				 "Crops '%s' needs 'count', how many images it makes, and "
				 "'transforms', their list: all of Crops make 1 to %d images",
				 crop->name, CROPS_VIEWS_MAX);
	if (crops_find(transforms) || user_map_find(transforms) < value_count(transforms))
		return fault_say(fault, CROPS_E_VALUE,
				 "Crops '%s' has a Map or Crops in it: leave it out", crop->name);
	int r = maker->make(&crop->pipeline, transforms, maker->dtype, maker->layout, &why);
	if (r)
		return r < 0 ? r : crop_fault(crop, CROPS_E_VALUE, &why, fault);
	crop->first = crops->views;
	crop->count = (uint32_t)count;
	crops->views += crop->count;
	crops->count++;
	const char *bar = barred(&crop->pipeline->list);
	return bar ? fault_say(fault, CROPS_E_VALUE, "Crops '%s' cannot make this: %s", crop->name,
			       bar)
		   : 0;
}

static int crops_parse(struct crops *crops, const struct value *transforms,
		       const struct crop_maker *maker, struct fault *fault)
{
	const struct value *map = value_item(transforms, 0), *list = value_get(map, "crops");
	int r = 0;
	if (value_count(transforms) != 1)
		return fault_say(fault, CROPS_E_VALUE,
				 "transforms: Crops stands alone: put what stands beside it into "
				 "each of its lists");
	if (value_count(map) != 2 || value_kind(list) != VALUE_LIST || value_count(list) == 0 ||
	    value_count(list) > CROPS_MAX)
		return fault_say(fault, CROPS_E_VALUE,
				 "Crops needs 'crops', a list of 1 to %d maps {name, count, "
				 "transforms}",
				 CROPS_MAX);
	for (uint32_t i = 0; i < value_count(list) && r == 0; i++)
		r = crops_add(crops, value_item(list, i), maker, fault);
	for (uint32_t i = 1; i < crops->count && r == 0; i++) {
		const struct image_form form = crops->crop[i].pipeline->list.wide;
		const struct image_form first = crops_form(crops);
		if (form.type != first.type || form.channels != first.channels)
			r = fault_say(fault, CROPS_E_VALUE,
				      "Crops '%s' and '%s' read files in different ways: give "
				      "each list the same ReadAs",
				      crops->crop[0].name, crops->crop[i].name);
	}
	return r;
}

int crops_new(struct crops **out, const struct value *transforms, const struct crop_maker *maker,
	      struct fault *fault)
{
	struct crops *crops = calloc(1, sizeof(*crops));
	if (!crops)
		return -ENOMEM;
	*out = crops;
	return crops_parse(crops, transforms, maker, fault);
}

int crops_each(const struct crops *crops, crop_function *function, const void *context,
	       struct fault *fault)
{
	struct fault why;
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < crops->count; i++) {
		r = function(crops->crop[i].pipeline, context, &why);
		if (r > 0)
			crop_fault(&crops->crop[i], r, &why, fault);
	}
	return r;
}

struct image_form crops_form(const struct crops *crops)
{
	return crops->crop[0].pipeline->list.wide;
}

bool crops_have_size(const struct crops *crops)
{
	bool all = true;
	for (uint32_t i = 0; i < crops->count; i++)
		all &= crops->crop[i].pipeline->list.sized;
	return all;
}

void crops_allow(struct crops *crops, bool draft, bool pillow_13)
{
	for (uint32_t i = 0; i < crops->count; i++) {
		crops->crop[i].pipeline->draft = draft;
		crops->crop[i].pipeline->pillow_13 = pillow_13;
	}
}

const struct crop *crops_at(const struct crops *crops, uint32_t view)
{
	uint32_t i = 0;
	while (i + 1 < crops->count && view >= crops->crop[i + 1].first)
		i++;
	return &crops->crop[i];
}

void crops_write(FILE *file, const struct crops *crops)
{
	fputs("Crops(", file);
	for (uint32_t i = 0; i < crops->count; i++) {
		const struct crop *crop = &crops->crop[i];
		fprintf(file, "%s%s=(%u, [", i ? ", " : "", crop->name, crop->count);
		transform_list_write(file, &crop->pipeline->list);
		fputs("])", file);
	}
	fputs(")|", file);
}

void crops_pack(struct packer *packer, const struct crops *crops, bool exact)
{
	pack_map(packer, 2);
	pack_string(packer, "crops");
	pack_list(packer, crops->count);
	for (uint32_t i = 0; i < crops->count; i++) {
		const struct crop *crop = &crops->crop[i];
		pack_map(packer, 3);
		pack_key_uint(packer, "count", crop->count);
		pack_key_string(packer, "name", crop->name);
		pack_string(packer, "transforms");
		pack_list(packer, transform_list_outer(&crop->pipeline->list));
		transform_list_pack(packer, &crop->pipeline->list, exact);
	}
	pack_key_string(packer, "name", "Crops");
}
