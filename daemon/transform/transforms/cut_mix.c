// SPDX-License-Identifier: MIT
/*
 * CutMix: a box of the array is the partner's; labels are mixed by the box's share. Draws lambda
 * (mixing.c), then
 *	x = below(65534, width), y = below(65535, height), r = sqrt(1 - lambda) / 2;
 *	the box is from x - trunc(r * width) to x + trunc(r * width), likewise y, cut to the
 *	picture; then lambda = 1 - (pixels of the box) / (width * height) in float64.
 */
#include <math.h>
#include <string.h>

#include "base/image.h"
#include "transform/output.h"
#include "transform/registry.h"
#include "transform/transforms/mixing.h"

enum { ALPHA };

/* One axis of the box: `half` to both sides of `at`, inside of `size`. */
static void box_axis(int32_t at, int32_t half, int32_t size, int32_t *first_out, int32_t *count_out)
{
	int32_t first = at - half < 0 ? 0 : at - half;
	int32_t end = at + half > size ? size : at + half;
	*first_out = first;
	*count_out = end - first;
}

static struct rect box_draw(const struct draws *draws, double lambda, int32_t width, int32_t height)
{
	int32_t x = draws_below(draws, 65534, width), y = draws_below(draws, 65535, height);
	double r = 0.5 * sqrt(1.0 - lambda);
	struct rect box;
	box_axis(x, (int32_t)(r * width), width, &box.x, &box.width);
	box_axis(y, (int32_t)(r * height), height, &box.y, &box.height);
	return box;
}

/* Rows of the box, in each plane or with all channels side by side. */
static void box_copy(const struct rect *box, const struct output *output, uint8_t *array,
		     const uint8_t *partner)
{
	size_t width = (size_t)output->width, height = (size_t)output->height;
	size_t pixel = (output->type == OUTPUT_FLOAT32 ? 4 : 2) * (output->planes ? 1u : 3u);
	size_t planes = output->planes ? 3 : 1;
	for (size_t plane = 0; plane < planes; plane++) {
		for (size_t y = 0; y < (size_t)box->height; y++) {
			size_t row = plane * height + (size_t)box->y + y;
			size_t at = (row * width + (size_t)box->x) * pixel;
			memcpy(array + at, partner + at, (size_t)box->width * pixel);
		}
	}
}

static struct mix_share mix(const struct transform *transform, const struct draws *draws,
			    const struct output *output, void *array, const void *partner)
{
	const int32_t width = output->width, height = output->height;
	double lambda = mix_lambda(draws, transform->values[ALPHA].number[0]);
	const struct rect box = box_draw(draws, lambda, width, height);
	box_copy(&box, output, array, partner);
	lambda = 1.0 - (double)box.width * box.height / ((double)width * height);
	return mix_share_of(lambda);
}

const struct transform_row transform_cut_mix = {
	.name = "CutMix",
	.parameters =
		{
			[ALPHA] = {.name = "alpha",
				   .type = PARAMETER_NUMBER,
				   .least = 0.01,
				   .most = 4,
				   .standard = {1, {1}}},
		},
	.mix = mix,
	.fractions = true,
};
