// SPDX-License-Identifier: MIT
/*
 * The door to the pipeline: a checked list, and the way of one sample. What it costs to check is
 * paid once; a sample only draws (geometry.c), plans (stage.c) and runs.
 */
#include "work/pipeline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work/geometry.h"
#include "work/output.h"
#include "work/quote.h"
#include "work/stage.h"
#include "work/transform.h"

#define OUTPUT_BYTES_MAX ((uint64_t)1 << 30)

struct pipeline {
	struct transform places[GEOMETRY_TRANSFORMS_MAX]; /* what moves pixels, in order */
	unsigned count;
	struct transform normalize;
	bool normalized;
	struct output output;
	bool draft;
	char *text; /* owned */
};

struct pipeline_scratch {
	struct geometry geometry;
	struct stages stages;
};

/* Checking a list: what must be remembered from one transform to the next. */
struct check {
	struct pipeline *pipeline;
	struct geometry geometry; /* of the size that all images have so far, if they have one */
	bool sized, tensor;
	int resized; /* the last Resize that fixed one edge only, or -1 */
};

static bool resizes(const struct transform *transform)
{
	return transform->row->kind == TRANSFORM_RESIZE ||
	       transform->row->kind == TRANSFORM_RANDOM_RESIZED_CROP;
}

static bool fills(const struct transform *transform)
{
	const struct parameter *fill = &transform->values[PAD_FILL];
	if (transform->row->kind == TRANSFORM_RANDOM_CROP)
		fill = &transform->values[RANDOM_CROP_FILL];
	else if (transform->row->kind != TRANSFORM_PAD)
		return false;
	return fill->number[0] != 0 || fill->number[1] != 0 || fill->number[2] != 0;
}

/* The size that a transform gives to every image whatever it was, as (height, width). */
static const double *fixed_size(const struct transform *transform)
{
	switch (transform->row->kind) {
	case TRANSFORM_RESIZE: /* size is the first parameter of all four */
		return transform->values[RESIZE_SIZE].count == 2
			       ? transform->values[RESIZE_SIZE].number
			       : NULL;
	case TRANSFORM_CENTER_CROP:
	case TRANSFORM_RANDOM_CROP:
	case TRANSFORM_RANDOM_RESIZED_CROP:
		return transform->values[0].number;
	default:
		return NULL;
	}
}

static int check_place(struct check *check, const struct transform *transform, unsigned index,
		       struct fault *fault)
{
	struct pipeline *pipeline = check->pipeline;
	struct geometry *geometry = &check->geometry;
	const double *size = fixed_size(transform);
	const struct draw_key key = {0};
	struct fault why;
	/* After ToTensor torchvision works on tensors, whose resize and fill are others. */
	if (check->tensor && (resizes(transform) || fills(transform)))
		return fault_say(
			fault, PIPELINE_E_TRANSFORM,
			"transforms[%u]: %s stands after ToTensor, where torchvision would "
			"%s numbers, not bytes: put it before",
			index, transform->row->name, resizes(transform) ? "resize" : "fill in");
	bool crops = transform->row->kind == TRANSFORM_RANDOM_CROP;
	if (check->sized && (crops || !size)) {
		if (geometry_add(geometry, transform, pipeline->count, &key, &why) != 0)
			return fault_say(fault, PIPELINE_E_TRANSFORM, "transforms[%u]: %s", index,
					 why.text);
		geometry_begin(geometry, geometry->size[0], geometry->size[1]);
	} else if (size) {
		check->sized = true;
		geometry_begin(geometry, (int32_t)size[1], (int32_t)size[0]);
	} else if (transform->row->kind == TRANSFORM_RESIZE) {
		check->resized = (int)index;
	}
	pipeline->places[pipeline->count++] = *transform;
	return 0;
}

static int check_transform(struct check *check, const struct value *map, unsigned index,
			   struct fault *fault)
{
	struct pipeline *pipeline = check->pipeline;
	struct transform transform;
	struct fault why;
	if (transform_parse(&transform, map, &why) != 0)
		return fault_say(fault, PIPELINE_E_TRANSFORM, "transforms[%u]: %s", index,
				 why.text);
	if (pipeline->normalized)
		return fault_say(
			fault, PIPELINE_E_TRANSFORM,
			"transforms[%u]: %s stands after Normalize, which must be the last", index,
			transform.row->name);
	switch (transform.row->kind) {
	case TRANSFORM_TO_TENSOR:
		check->tensor = true;
		return 0;
	case TRANSFORM_NORMALIZE:
		if (pipeline->output.type == OUTPUT_UINT8)
			return fault_say(fault, PIPELINE_E_TRANSFORM,
					 "transforms[%u]: Normalize makes fractions, which dtype "
					 "uint8 cannot hold: take float32, float16 or bfloat16",
					 index);
		pipeline->normalize = transform;
		pipeline->normalized = true;
		return 0;
	default:
		return check_place(check, &transform, index, fault);
	}
}

static int check_size(const struct check *check, struct fault *fault)
{
	struct output *output = &check->pipeline->output;
	if (!check->sized && check->resized >= 0)
		return fault_say(
			fault, PIPELINE_E_TRANSFORM,
			"transforms[%d]: Resize of one number fixes the shorter edge only, so "
			"images would come out in different sizes: add CenterCrop(size) "
			"behind it, or give it size=(height, width)",
			check->resized);
	if (!check->sized)
		return fault_say(fault, PIPELINE_E_TRANSFORM,
				 "transforms: none of them gives the images one size: add "
				 "RandomResizedCrop(224), or Resize(256) and CenterCrop(224)");
	output->width = check->geometry.size[0];
	output->height = check->geometry.size[1];
	if (output_bytes(output->type, output->width, output->height) > OUTPUT_BYTES_MAX)
		return fault_say(fault, PIPELINE_E_TRANSFORM,
				 "transforms: an image of %d x %d in %s takes more than 1 GiB",
				 output->width, output->height, output_type_name(output->type));
	return 0;
}

static int check_list(struct pipeline *pipeline, const struct value *list, struct fault *fault)
{
	struct check check = {.pipeline = pipeline, .resized = -1};
	uint32_t count = list && list->kind == VALUE_LIST ? list->count : 0;
	if (list && list->kind != VALUE_LIST && list->kind != VALUE_NIL)
		return fault_say(fault, PIPELINE_E_TRANSFORM,
				 "transforms: must be a list, not a %s",
				 value_kind_name(list->kind));
	if (count > GEOMETRY_TRANSFORMS_MAX)
		return fault_say(fault, PIPELINE_E_TRANSFORM, "transforms: %u are more than %d",
				 count, GEOMETRY_TRANSFORMS_MAX);
	for (uint32_t i = 0; i < count; i++) {
		int r = check_transform(&check, &list->items[i], i, fault);
		if (r)
			return r;
	}
	return check_size(&check, fault);
}

static int pipeline_write(struct pipeline *pipeline)
{
	size_t size;
	FILE *file = open_memstream(&pipeline->text, &size);
	if (!file)
		return -ENOMEM;
	for (unsigned i = 0; i < pipeline->count; i++) {
		transform_write(file, &pipeline->places[i]);
		fputs("|", file);
	}
	if (pipeline->normalized) {
		transform_write(file, &pipeline->normalize);
		fputs("|", file);
	}
	fprintf(file, "%s|%s", output_type_name(pipeline->output.type),
		pipeline->output.planes ? "NCHW" : "NHWC");
	bool bad = ferror(file);
	/* glibc's fclose() does not say that the text could not be had. */
	return fclose(file) != 0 || bad || !pipeline->text ? -ENOMEM : 0;
}

static int pipeline_parse(struct pipeline *pipeline, const struct value *transforms,
			  struct text dtype, struct text layout, struct fault *fault)
{
	struct quote quote;
	if (!output_parse_type(dtype, &pipeline->output.type))
		return fault_say(fault, PIPELINE_E_TRANSFORM,
				 "dtype: '%s' is none of uint8, float16, bfloat16, float32",
				 quote_bytes(&quote, dtype.data, dtype.size));
	if (!output_parse_layout(layout, &pipeline->output.planes))
		return fault_say(fault, PIPELINE_E_TRANSFORM, "layout: '%s' is none of NCHW, NHWC",
				 quote_bytes(&quote, layout.data, layout.size));
	int r = check_list(pipeline, transforms, fault);
	if (r)
		return r;
	output_tabulate(&pipeline->output,
			pipeline->normalized ? pipeline->normalize.values[NORMALIZE_MEAN].number
					     : NULL,
			pipeline->normalize.values[NORMALIZE_STD].number);
	return pipeline_write(pipeline);
}

int pipeline_new(struct pipeline **out, const struct value *transforms, struct text dtype,
		 struct text layout, struct fault *fault)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	if (!pipeline)
		return -ENOMEM;
	int r = pipeline_parse(pipeline, transforms, dtype, layout, fault);
	if (r) {
		pipeline_free(pipeline);
		return r;
	}
	*out = pipeline;
	return 0;
}

int pipeline_allow_draft(struct pipeline *pipeline)
{
	char *text;
	if (asprintf(&text, "%s|draft", pipeline->text) < 0)
		return -ENOMEM;
	free(pipeline->text);
	pipeline->text = text;
	pipeline->draft = true;
	return 0;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (pipeline)
		free(pipeline->text);
	free(pipeline);
}

const char *pipeline_text(const struct pipeline *pipeline)
{
	return pipeline->text;
}

struct digest pipeline_hash(const struct pipeline *pipeline)
{
	return digest_of(pipeline->text, strlen(pipeline->text));
}

struct pipeline_output pipeline_output(const struct pipeline *pipeline)
{
	const struct output *output = &pipeline->output;
	uint32_t width = (uint32_t)output->width, height = (uint32_t)output->height;
	struct pipeline_output described = {
		.dtype = output_type_name(output->type),
		.shape = {height, width, 3},
		.bytes = output_bytes(output->type, output->width, output->height),
	};
	if (output->planes) {
		described.shape[0] = 3;
		described.shape[1] = height;
		described.shape[2] = width;
	}
	return described;
}

int pipeline_scratch_new(struct pipeline_scratch **out)
{
	struct pipeline_scratch *scratch = calloc(1, sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	*out = scratch;
	return 0;
}

void pipeline_scratch_free(struct pipeline_scratch *scratch)
{
	if (scratch)
		stages_deinit(&scratch->stages);
	free(scratch);
}

int pipeline_draw(const struct pipeline *pipeline, const struct draw_key *key, int32_t width,
		  int32_t height, struct pipeline_scratch *scratch, struct rect *need_out,
		  struct fault *fault)
{
	struct geometry *geometry = &scratch->geometry;
	geometry_begin(geometry, width, height);
	for (unsigned i = 0; i < pipeline->count; i++) {
		if (geometry_add(geometry, &pipeline->places[i], i, key, fault) != 0)
			return PIPELINE_E_IMAGE;
	}
	int r = stages_plan(&scratch->stages, geometry, width, height, need_out, fault);
	return r > 0 ? PIPELINE_E_IMAGE : r;
}

int pipeline_draft(const struct pipeline *pipeline, struct pipeline_scratch *scratch, int32_t width,
		   int32_t height, struct rect *need_out, unsigned *scale_out, struct fault *fault)
{
	unsigned scale = pipeline->draft ? geometry_shrink(&scratch->geometry) : 1;
	int32_t by = (int32_t)scale;
	*scale_out = scale;
	if (scale == 1)
		return 0;
	int r = stages_plan(&scratch->stages, &scratch->geometry, (width + by - 1) / by,
			    (height + by - 1) / by, need_out, fault);
	return r > 0 ? PIPELINE_E_IMAGE : r;
}

int pipeline_apply(const struct pipeline *pipeline, const struct image *image,
		   struct pipeline_scratch *scratch, void *out)
{
	return stages_run(&scratch->stages, &scratch->geometry, image, &pipeline->output, out);
}
