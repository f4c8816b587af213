// SPDX-License-Identifier: MIT
/*
 * Runs a pipeline in a worker: draws a sample, plans and runs its steps, changes its array.
 */
#include "transform/pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "transform/annotation.h"
#include "transform/pipeline_parts.h"
#include "transform/steps_draw.h"
#include "transform/wide/wide_passes.h"

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
		passes_deinit(&scratch->passes);
		buffer_deinit(&scratch->boxes);
		buffer_deinit(&scratch->mask);
		alpha_scratch_deinit(&scratch->alpha);
		tensor_ops_scratch_deinit(&scratch->ops);
	}
	free(scratch);
}

/* A sample of another size than the settled one would be written past the end of its slot. */
static int pipeline_check_size(const struct pipeline *pipeline, const struct steps *steps,
			       struct fault *fault)
{
	const struct output *output = &pipeline->output;
	if (steps->size[0] == output->width && steps->size[1] == output->height)
		return 0;
	return fault_say(fault, PIPELINE_E_IMAGE,
			 "the transforms make it %" PRId32 " x %" PRId32
			 ", but the samples of this batch are %" PRId32 " x %" PRId32 "%s",
			 steps->size[0], steps->size[1], output->width, output->height,
			 pipeline->settled ? ": where pictures differ in size, add Resize((h, w)) "
					     "or a crop"
					   : "");
}

int pipeline_give_boxes(struct pipeline_scratch *scratch, const float *numbers, uint32_t count)
{
	const size_t bytes = BOX_NUMBERS * sizeof(*numbers) * (size_t)count;
	int r = buffer_reserve(&scratch->boxes, bytes);
	if (r == 0 && bytes)
		memcpy(scratch->boxes.data, numbers, bytes);
	if (r == 0)
		scratch->boxes.size = bytes;
	return r;
}

/* The boxes that were given, which are given once. */
static struct boxes pipeline_boxes(struct pipeline_scratch *scratch)
{
	const uint32_t count = (uint32_t)(scratch->boxes.size / (BOX_NUMBERS * sizeof(float)));
	scratch->boxes.size = 0;
	return (struct boxes){(float *)scratch->boxes.data, count, 0};
}

static int pipeline_draw_steps(const struct pipeline *pipeline, const struct draw_key *key,
			       int32_t width, int32_t height, struct pipeline_scratch *scratch,
			       struct fault *fault)
{
	struct steps *steps = &scratch->steps;
	const struct transform_list *list = &pipeline->list;
	/* The position's highest byte is the view: see draw_view(). */
	uint64_t view = key->position >> 56, place = key->position << 8 >> 8;
	struct draw_key whole = *key;
	whole.position = place | view / list->views << 56;
	steps_begin(steps, width, height);
	steps->pillow_13 = pipeline->pillow_13;
	steps->pixel_bytes = pipeline_pixel_bytes(pipeline);
	steps->index = list->index;
	steps->boxes = pipeline_boxes(scratch);
	unsigned split = list->before_views;
	int r = steps_draw(steps, list->pictures, 0, split, &whole, fault);
	if (r == 0)
		r = steps_draw(steps, list->pictures, split, list->count - split, key, fault);
	if (r == 0 && !pipeline->is_front)
		r = pipeline_check_size(pipeline, steps, fault);
	return r ? PIPELINE_E_IMAGE : 0;
}

int pipeline_draw(const struct pipeline *pipeline, const struct draw_key *key, int32_t width,
		  int32_t height, struct pipeline_scratch *scratch, struct rect *need_out,
		  struct fault *fault)
{
	scratch->key = *key;
	int r = pipeline_draw_steps(pipeline, key, width, height, scratch, fault);
	if (r == 0)
		r = passes_plan(&scratch->passes, &scratch->steps, width, height, need_out, fault);
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
	int r = passes_plan(&scratch->passes, &scratch->steps, (width + by - 1) / by,
			    (height + by - 1) / by, need_out, fault);
	return r > 0 ? PIPELINE_E_IMAGE : r;
}

/* Make a generator's input: the picture that the passes make, or numbers as they are. */
static int pipeline_picture(const struct pipeline *pipeline, const struct image *image,
			    const struct image *alpha, struct pipeline_scratch *scratch,
			    struct image *out, struct cancel *cancel)
{
	const struct tensor_ops *ops = &pipeline->ops;
	if (pipeline->channels) {
		*out = *image;
		return 0;
	}
	if (pipeline->list.alpha)
		return alpha_run(&scratch->alpha, &scratch->passes, &scratch->steps, image, alpha,
				 pipeline->list.filtered, &ops->picture, out, cancel);
	int r = tensor_ops_picture(ops, &scratch->ops, out);
	return r ? r
		 : passes_run(&scratch->passes, &scratch->steps, image, &ops->picture,
			      scratch->ops.bytes.data, cancel);
}

int pipeline_apply(const struct pipeline *pipeline, const struct image *image,
		   const struct image *alpha, struct pipeline_scratch *scratch, void *out,
		   struct cancel *cancel)
{
	const struct tensor_ops *ops = &pipeline->ops;
	struct image picture;
	int r;
	if (ops->generates) {
		r = pipeline_picture(pipeline, image, alpha, scratch, &picture, cancel);
		if (r == 0)
			r = tensor_ops_generate(ops, &scratch->key, &picture, scratch->passes.cpu,
						&scratch->ops, &pipeline->output, out);
		alpha_scratch_trim(&scratch->alpha);
	} else if (pipeline->list.wide.type) {
		r = wide_passes_run(&scratch->passes, &scratch->steps, image, &pipeline->output,
				    out, cancel);
	} else {
		r = passes_run(&scratch->passes, &scratch->steps, image, &pipeline->output, out,
			       cancel);
	}
	if (r == 0)
		tensor_ops_change(ops, &scratch->key, &pipeline->output, out);
	return r > 0 ? PIPELINE_E_STOPPED : r;
}

int pipeline_apply_front(const struct pipeline *front, const struct image *image,
			 struct pipeline_scratch *scratch, struct front_picture *out,
			 struct cancel *cancel)
{
	struct output output = front->output;
	output.width = scratch->steps.size[0];
	output.height = scratch->steps.size[1];
	size_t bytes = (size_t)output_bytes(output.type, output.width, output.height);
	int r = buffer_reserve(&out->bytes, bytes);
	if (r)
		return r;
	r = passes_run(&scratch->passes, &scratch->steps, image, &output, out->bytes.data, cancel);
	out->bytes.size = bytes;
	out->width = output.width;
	out->height = output.height;
	return r > 0 ? PIPELINE_E_STOPPED : r;
}

void pipeline_mix(const struct pipeline *pipeline, const struct draw_key *key, void *array,
		  const void *partner, float *label, const float *partner_label, uint32_t classes)
{
	tensor_ops_mix(&pipeline->ops, key, &pipeline->output, array, partner, label, partner_label,
		       classes);
}

struct tile pipeline_tile(const struct pipeline *pipeline, const struct draw_key *key,
			  unsigned corner)
{
	return tensor_ops_tile(&pipeline->ops, key, &pipeline->output, corner);
}

void pipeline_move(const struct pipeline_scratch *scratch, const struct tile *tile, float *numbers,
		   uint32_t count, bool boxes)
{
	annotation_move(&scratch->steps, tile, numbers, count, boxes);
}

void pipeline_real(const struct pipeline_scratch *scratch, const struct tile *tile, int32_t width,
		   int32_t height, float box[4])
{
	annotation_real(&scratch->steps, tile, width, height, box);
}

void pipeline_crop(const struct pipeline_scratch *scratch, float box[4])
{
	const struct rect crop = scratch->steps.crop;
	box[0] = (float)crop.x;
	box[1] = (float)crop.y;
	box[2] = (float)(crop.x + crop.width);
	box[3] = (float)(crop.y + crop.height);
}

int pipeline_draw_mask(const struct pipeline *pipeline, const struct draw_key *key, int32_t width,
		       int32_t height, struct pipeline_scratch *scratch, struct rect *need_out,
		       struct fault *fault)
{
	struct steps *steps = &scratch->steps;
	int r = pipeline_draw_steps(pipeline, key, width, height, scratch, fault);
	if (r)
		return r;
	annotation_mask_steps(steps);
	steps->pixel_bytes = 0;
	r = passes_plan(&scratch->passes, steps, width, height, need_out, fault);
	return r > 0 ? PIPELINE_E_IMAGE : r;
}

/* The numbers of packed pixels. */
static void mask_numbers(const uint8_t *pixels, size_t count, unsigned bytes, void *out)
{
	uint8_t *small = out;
	uint16_t *words = out;
	int32_t *ids = out;
	for (size_t i = 0; i < count && bytes == 1; i++)
		small[i] = pixels[3 * i];
	for (size_t i = 0; i < count && bytes == 2; i++, pixels += 3)
		words[i] = (uint16_t)(pixels[0] | (pixels[0] == pixels[2] ? 0 : pixels[1] << 8));
	for (size_t i = 0; i < count && bytes == 4; i++, pixels += 3)
		ids[i] = pixels[0] | pixels[1] << 8 | pixels[2] << 16;
}

int pipeline_apply_mask(const struct pipeline *pipeline, const struct image *image,
			struct pipeline_scratch *scratch, unsigned bytes, void *out)
{
	const struct output colours = {.type = OUTPUT_UINT8,
				       .width = pipeline->output.width,
				       .height = pipeline->output.height};
	size_t count = (size_t)colours.width * (size_t)colours.height;
	int r = buffer_reserve(&scratch->mask, 3 * count);
	if (r == 0)
		r = passes_run(&scratch->passes, &scratch->steps, image, &colours,
			       scratch->mask.data, NULL);
	if (r == 0)
		mask_numbers(scratch->mask.data, count, bytes, out);
	buffer_trim(&scratch->mask, BUFFER_KEEP);
	return r;
}
