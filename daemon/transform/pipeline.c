// SPDX-License-Identifier: MIT
/*
 * The door to the pipeline: a checked list, and the way of one sample. What it costs to check is
 * paid once; a sample only draws (geometry.c), plans (stage.c) and runs.
 */
#include "transform/pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "statistics/statistics.h"
#include "transform/annotation.h"
#include "transform/mix.h"
#include "transform/output.h"
#include "transform/stage.h"
#include "transform/steps.h"
#include "transform/tensor_ops.h"
#include "transform/transform_list.h"

#define OUTPUT_BYTES_MAX ((uint64_t)1 << 30)

struct pipeline {
	struct transform_list list;
	struct output output;
	struct tail tail;
	struct mix mix;
	bool draft;
	struct statistics *statistics; /* the tail's; a user of them */
	char *text;		       /* owned */
};

struct pipeline_scratch {
	struct steps steps;
	struct stages stages;
	struct buffer mask;  /* as it comes out of the stages, three bytes a pixel */
	struct draw_key key; /* the tail draws for itself */
	struct tail_scratch tail;
};

static int pipeline_write(struct pipeline *pipeline)
{
	size_t size;
	free(pipeline->text);
	pipeline->text = NULL;
	FILE *file = open_memstream(&pipeline->text, &size);
	if (!file)
		return -ENOMEM;
	transform_list_write(file, &pipeline->list);
	fprintf(file, "%s|%s%s", output_type_name(pipeline->output.type),
		pipeline->output.planes ? "NCHW" : "NHWC", pipeline->draft ? "|draft" : "");
	bool bad = ferror(file);
	/* glibc's fclose() does not say that the text could not be had. */
	return fclose(file) != 0 || bad || !pipeline->text ? -ENOMEM : 0;
}

static int pipeline_measure(struct pipeline *pipeline, struct fault *fault)
{
	struct output *output = &pipeline->output;
	output->width = pipeline->list.width;
	output->height = pipeline->list.height;
	if (output_bytes(output->type, output->width, output->height) > OUTPUT_BYTES_MAX)
		return fault_say(fault, PIPELINE_E_TRANSFORM,
				 "transforms: an image of %d x %d in %s takes more than 1 GiB",
				 output->width, output->height, output_type_name(output->type));
	return 0;
}

static int pipeline_end(struct pipeline *pipeline, struct fault *fault)
{
	const struct transform_list *list = &pipeline->list;
	struct fault why;
	for (unsigned i = 0; i < list->end_count; i++) {
		enum transform_kind kind = list->ends[i].row->kind;
		if (kind == TRANSFORM_MIX_UP || kind == TRANSFORM_CUT_MIX)
			pipeline->mix = mix_make(&list->ends[i], list->count + i);
		else if (tail_add(&pipeline->tail, &list->ends[i], list->count + i,
				  &pipeline->output, &why) != 0)
			return fault_say(fault, PIPELINE_E_TRANSFORM, "transforms: %s", why.text);
	}
	return 0;
}

/* Once the size of images is known. */
static int pipeline_finish(struct pipeline *pipeline, struct fault *fault)
{
	int r = pipeline_measure(pipeline, fault);
	return r ? r : pipeline_end(pipeline, fault);
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
	struct fault why;
	if (transform_list_parse(&pipeline->list, transforms, pipeline->output.type != OUTPUT_UINT8, &why) !=
	    0)
		return fault_say(fault, PIPELINE_E_TRANSFORM, "%s", why.text);
	int r = pipeline->list.sized ? pipeline_finish(pipeline, fault) : 0;
	if (r)
		return r;
	const struct transform_list *list = &pipeline->list;
	output_tabulate(&pipeline->output,
			list->normalized ? list->normalize.values[NORMALIZE_MEAN].number : NULL,
			list->normalize.values[NORMALIZE_STD].number);
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

int pipeline_settle(struct pipeline *pipeline, int32_t width, int32_t height, struct fault *fault)
{
	struct fault why;
	if (pipeline->list.sized)
		return 0;
	if (transform_list_settle(&pipeline->list, width, height, &why))
		return fault_say(fault, PIPELINE_E_TRANSFORM, "%s", why.text);
	return pipeline_finish(pipeline, fault);
}

int pipeline_allow_draft(struct pipeline *pipeline)
{
	pipeline->draft = true;
	return pipeline_write(pipeline);
}

/* Of the list's generator; NULL: there is none. */
static struct parameter *pipeline_asks(struct pipeline *pipeline)
{
	struct transform_list *list = &pipeline->list;
	for (unsigned i = 0; i < list->end_count; i++)
		if (list->ends[i].row->kind == TRANSFORM_IMAGE_DATA_GENERATOR)
			return &list->ends[i].values[GENERATOR_STATISTICS];
	return NULL;
}

const char *pipeline_statistics(struct pipeline *pipeline)
{
	const struct parameter *asks = pipeline_asks(pipeline);
	return asks ? parameter_text(asks) : NULL;
}

int pipeline_fit(struct pipeline *pipeline, struct statistics *statistics, struct fault *fault)
{
	char hex[33];
	struct fault why;
	if (tail_fit(&pipeline->tail, statistics, &why))
		return fault_say(fault, PIPELINE_E_TRANSFORM, "transforms: %s", why.text);
	statistics->users++;
	pipeline->statistics = statistics;
	digest_hex(&statistics->digest, hex);
	parameter_set_text(pipeline_asks(pipeline), hex);
	return pipeline_write(pipeline);
}

const char *pipeline_random(const struct pipeline *pipeline)
{
	const struct transform_list *list = &pipeline->list;
	for (unsigned i = 0; i < list->count; i++) {
		switch (list->places[i].row->kind) {
		case TRANSFORM_RESIZE:
		case TRANSFORM_CENTER_CROP:
		case TRANSFORM_PAD:
		case TRANSFORM_GRAYSCALE:
		case TRANSFORM_COMPOSE:
			break;
		default:
			return list->places[i].row->name;
		}
	}
	return list->end_count ? list->ends[0].row->name : NULL;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (pipeline) {
		statistics_put(pipeline->statistics);
		free(pipeline->text);
	}
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

bool pipeline_drafts(const struct pipeline *pipeline)
{
	return pipeline->draft;
}

uint32_t pipeline_views(const struct pipeline *pipeline)
{
	return pipeline->list.views;
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

void pipeline_size(const struct pipeline *pipeline, uint32_t size_out[2])
{
	size_out[0] = (uint32_t)pipeline->output.height;
	size_out[1] = (uint32_t)pipeline->output.width;
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
	if (scratch) {
		stages_deinit(&scratch->stages);
		buffer_deinit(&scratch->mask);
		tail_scratch_deinit(&scratch->tail);
	}
	free(scratch);
}

/* A sample of another size than the pipeline was settled with would be written beside its slot. */
static int pipeline_check_size(const struct pipeline *pipeline, const struct steps *steps,
			       struct fault *fault)
{
	const struct output *output = &pipeline->output;
	if (steps->size[0] == output->width && steps->size[1] == output->height)
		return 0;
	return fault_say(fault, PIPELINE_E_IMAGE,
			 "the transforms make it %" PRId32 " x %" PRId32
			 ", and the samples of this batch are %" PRId32 " x %" PRId32,
			 steps->size[0], steps->size[1], output->width, output->height);
}

static int pipeline_draw_steps(const struct pipeline *pipeline, const struct draw_key *key,
			       int32_t width, int32_t height, struct steps *steps,
			       struct fault *fault)
{
	const struct transform_list *list = &pipeline->list;
	/* A view is the position's highest byte: see draw_view(). */
	uint64_t view = key->position >> 56, place = key->position << 8 >> 8;
	struct draw_key whole = *key;
	whole.position = place | view / list->views << 56;
	steps_begin(steps, width, height);
	int r = steps_draw(steps, list->places, 0, list->whole, &whole, fault);
	if (r == 0)
		r = steps_draw(steps, list->places, list->whole,
				      list->count - list->whole, key, fault);
	if (r == 0)
		r = pipeline_check_size(pipeline, steps, fault);
	return r ? PIPELINE_E_IMAGE : 0;
}

int pipeline_draw(const struct pipeline *pipeline, const struct draw_key *key, int32_t width,
		  int32_t height, struct pipeline_scratch *scratch, struct rect *need_out,
		  struct fault *fault)
{
	struct steps *steps = &scratch->steps;
	scratch->key = *key;
	int r = pipeline_draw_steps(pipeline, key, width, height, steps, fault);
	if (r == 0)
		r = stages_plan(&scratch->stages, steps, width, height, need_out, fault);
	return r > 0 ? PIPELINE_E_IMAGE : r;
}

int pipeline_draft(const struct pipeline *pipeline, struct pipeline_scratch *scratch, int32_t width,
		   int32_t height, struct rect *need_out, unsigned *scale_out, struct fault *fault)
{
	unsigned scale = pipeline->draft ? steps_shrink(&scratch->steps) : 1;
	int32_t by = (int32_t)scale;
	*scale_out = scale;
	if (scale == 1)
		return 0;
	int r = stages_plan(&scratch->stages, &scratch->steps, (width + by - 1) / by,
			    (height + by - 1) / by, need_out, fault);
	return r > 0 ? PIPELINE_E_IMAGE : r;
}

int pipeline_apply(const struct pipeline *pipeline, const struct image *image,
		   struct pipeline_scratch *scratch, void *out)
{
	const struct tail *tail = &pipeline->tail;
	struct image picture = {0};
	int r = 0;
	if (!tail->generates) {
		r = stages_run(&scratch->stages, &scratch->steps, image, &pipeline->output, out);
	} else {
		r = tail_picture(tail, &scratch->tail, &picture);
		if (r == 0)
			r = stages_run(&scratch->stages, &scratch->steps, image, &tail->bytes,
				       scratch->tail.bytes.data);
		if (r == 0)
			r = tail_generate(tail, &scratch->key, &picture, scratch->stages.cpu,
					  &scratch->tail, &pipeline->output, out);
	}
	if (r == 0)
		tail_erase(tail, &scratch->key, &pipeline->output, out);
	return r;
}

const char *pipeline_bars(const struct pipeline *pipeline)
{
	return pipeline->tail.generates ? "ImageDataGenerator"
	       : !pipeline->mix.there	? NULL
	       : pipeline->mix.cuts	? "CutMix"
					: "MixUp";
}

bool pipeline_mixes(const struct pipeline *pipeline)
{
	return pipeline->mix.there;
}

void pipeline_mix(const struct pipeline *pipeline, const struct draw_key *key, void *array,
		  const void *other, float *label, const float *other_label, uint32_t classes)
{
	const struct output *output = &pipeline->output;
	struct mix_share share = mix_draw(&pipeline->mix, key, output->width, output->height);
	mix_arrays(&pipeline->mix, &share, output, array, other);
	mix_labels(&share, label, other_label, classes);
}

void pipeline_move(const struct pipeline_scratch *scratch, float *numbers, uint32_t count,
		   bool boxes)
{
	annotation_move(&scratch->steps, numbers, count, boxes);
}

int pipeline_draw_mask(const struct pipeline *pipeline, const struct draw_key *key, int32_t width,
		       int32_t height, struct pipeline_scratch *scratch, struct rect *need_out,
		       struct fault *fault)
{
	struct steps *steps = &scratch->steps;
	int r = pipeline_draw_steps(pipeline, key, width, height, steps, fault);
	if (r)
		return r;
	annotation_mask_steps(steps);
	r = stages_plan(&scratch->stages, steps, width, height, need_out, fault);
	return r > 0 ? PIPELINE_E_IMAGE : r;
}

int pipeline_apply_mask(const struct pipeline *pipeline, const struct image *image,
			struct pipeline_scratch *scratch, uint8_t *out)
{
	const struct output bytes = {.type = OUTPUT_UINT8,
				     .width = pipeline->output.width,
				     .height = pipeline->output.height};
	size_t count = (size_t)bytes.width * (size_t)bytes.height;
	int r = buffer_reserve(&scratch->mask, 3 * count);
	if (r == 0)
		r = stages_run(&scratch->stages, &scratch->steps, image, &bytes,
			       scratch->mask.data);
	for (size_t i = 0; i < count && r == 0; i++)
		out[i] = scratch->mask.data[3 * i];
	buffer_trim(&scratch->mask, BUFFER_KEEP);
	return r;
}
