// SPDX-License-Identifier: MIT
#include "transform/alpha.h"

#define OPAQUE 255u

static struct rect rect_common(struct rect a, struct rect b)
{
	int32_t right = a.x + a.width < b.x + b.width ? a.x + a.width : b.x + b.width;
	int32_t end = a.y + a.height < b.y + b.height ? a.y + a.height : b.y + b.height;
	struct rect common = {.x = a.x > b.x ? a.x : b.x, .y = a.y > b.y ? a.y : b.y};
	common.width = right - common.x;
	common.height = end - common.y;
	return common;
}

static const uint8_t *row_at(const struct image *image, const struct rect *part, int32_t row)
{
	return image->pixels + (size_t)(part->y + row - image->area.y) * image->stride +
	       3 * (size_t)(part->x - image->area.x);
}

/* Colours times alpha, of the part that both have: to `memory`, which `out` shows. 0 or -ENOMEM. */
static int multiply(const struct image *colours, const struct image *alpha, struct buffer *memory,
		    struct image *out)
{
	const struct rect part = rect_common(colours->area, alpha->area);
	const size_t stride = 3 * (size_t)part.width;
	int r = buffer_reserve(memory, stride * (size_t)part.height);
	if (r < 0)
		return r;
	uint8_t *to = memory->data;
	for (int32_t y = 0; y < part.height; y++, to += stride) {
		const uint8_t *colour = row_at(colours, &part, y), *by = row_at(alpha, &part, y);
		for (size_t i = 0; i < stride; i++) {
			unsigned product = colour[i] * by[i] + 128u;
			to[i] = (uint8_t)((product + (product >> 8)) >> 8);
		}
	}
	*out = (struct image){memory->data, stride, colours->width, colours->height, part};
	return 0;
}

/* The reverse, in place. */
static void divide(uint8_t *colours, const uint8_t *alpha, size_t pixels)
{
	for (size_t i = 0; i < 3 * pixels; i++) {
		if (alpha[i] == 0 || alpha[i] == OPAQUE)
			continue;
		unsigned colour = OPAQUE * colours[i] / alpha[i];
		colours[i] = (uint8_t)(colour < OPAQUE ? colour : OPAQUE);
	}
}

/* `alpha` NULL: all is opaque. */
static void join(const uint8_t *colours, const uint8_t *alpha, size_t pixels, float *out)
{
	for (size_t i = 0; i < pixels; i++, out += 4) {
		for (size_t k = 0; k < 3; k++)
			out[k] = colours[3 * i + k];
		out[3] = alpha ? alpha[3 * i] : OPAQUE;
	}
}

/* 0, PASS_E_STOPPED or -ENOMEM. */
static int run_shades(struct alpha_scratch *scratch, struct passes *passes,
		      const struct steps *steps, const struct image *alpha,
		      const struct output *bytes, struct cancel *cancel)
{
	size_t size = 3 * (size_t)bytes->width * (size_t)bytes->height;
	struct rect need;
	struct fault ignored;
	int r = buffer_reserve(&scratch->shades, size);
	if (r == 0) /* once more: tables that were large have been freed */
		r = passes_plan(passes, steps, alpha->width, alpha->height, &need, &ignored);
	return r ? r : passes_run(passes, steps, alpha, bytes, scratch->shades.data, cancel);
}

int alpha_run(struct alpha_scratch *scratch, struct passes *passes, const struct steps *steps,
	      const struct image *colours, const struct image *alpha, bool filters,
	      const struct output *bytes, struct image *out, struct cancel *cancel)
{
	const size_t pixels = (size_t)bytes->width * (size_t)bytes->height;
	/* Where Pillow returns a copy it does not multiply. */
	bool multiplies = alpha && filters && steps->count > 0;
	struct image source = *colours;
	int r = buffer_reserve(&scratch->colours, 3 * pixels);
	if (r == 0)
		r = buffer_reserve(&scratch->numbers, 4 * pixels * sizeof(float));
	if (r == 0 && multiplies)
		r = multiply(colours, alpha, &scratch->multiplied, &source);
	if (r == 0)
		r = passes_run(passes, steps, &source, bytes, scratch->colours.data, cancel);
	if (r == 0 && alpha)
		r = run_shades(scratch, passes, steps, alpha, bytes, cancel);
	if (r)
		return r;
	if (multiplies)
		divide(scratch->colours.data, scratch->shades.data, pixels);
	join(scratch->colours.data, alpha ? scratch->shades.data : NULL, pixels,
	     (float *)(void *)scratch->numbers.data);
	*out = (struct image){scratch->numbers.data,
			      4 * sizeof(float) * (size_t)bytes->width,
			      bytes->width,
			      bytes->height,
			      {0, 0, bytes->width, bytes->height},
			      {IMAGE_FLOAT32, 4}};
	return 0;
}

void alpha_scratch_trim(struct alpha_scratch *scratch)
{
	buffer_trim(&scratch->multiplied, BUFFER_KEEP);
	buffer_trim(&scratch->colours, BUFFER_KEEP);
	buffer_trim(&scratch->shades, BUFFER_KEEP);
	buffer_trim(&scratch->numbers, BUFFER_KEEP);
}

void alpha_scratch_deinit(struct alpha_scratch *scratch)
{
	buffer_deinit(&scratch->multiplied);
	buffer_deinit(&scratch->colours);
	buffer_deinit(&scratch->shades);
	buffer_deinit(&scratch->numbers);
}
