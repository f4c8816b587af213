// SPDX-License-Identifier: MIT
/*
 * Draw n of transform t of the list is number t * 65536 + n of the pair, whose position is half of
 * the sample's, rounded down; uniform() in [0, 1), below(n, m) a whole number in [0, m):
 *	lambda, of Beta(alpha, alpha), by Joehnk: for try k = 0, 1, ... to 9999
 *		x = exp(log(1 - uniform(2k)) / alpha), y = exp(log(1 - uniform(2k + 1)) / alpha)
 *		until 0 < x + y <= 1: lambda = x / (x + y); after the last try 0.5
 *	CutMix: x = below(65534, width), y = below(65535, height), r = sqrt(1 - lambda) / 2;
 *		the box from x - trunc(r * width) to x + trunc(r * width), likewise y, cut to the
 *		picture; then lambda = 1 - (pixels of the box) / (width * height)
 * in float64, exp and log from base/exact.h. Mixed is in float32: own * lambda, rounded, plus
 * other * (1 - lambda), rounded, rounded; a half is made of that.
 */
#include "transform/mix.h"

#include <math.h>
#include <string.h>

#include "base/exact.h"

#define TRIES 10000
#define EXPONENT_MIN (-700.0) /* of exact_exp(): below it is nothing */

struct mix mix_make(const struct transform *transform, unsigned index)
{
	return (struct mix){
		.there = true,
		.cuts = transform->row->kind == TRANSFORM_CUT_MIX,
		.alpha = transform->values[MIX_ALPHA].number[0],
		.index = index,
	};
}

static double draw_power(const struct draw_key *pair, uint32_t number, double alpha)
{
	double exponent = exact_log(1.0 - draw_uniform(pair, number)) / alpha;
	return exponent < EXPONENT_MIN ? 0.0 : exact_exp(exponent);
}

static double draw_beta(const struct draw_key *pair, uint32_t first, double alpha)
{
	for (uint32_t try = 0; try < TRIES; try++) {
		double x = draw_power(pair, first + 2 * try, alpha);
		double y = draw_power(pair, first + 2 * try + 1, alpha);
		if (x + y > 0.0 && x + y <= 1.0)
			return x / (x + y);
	}
	return 0.5;
}

/* One axis of the box: around `at`, `half` to both sides, inside of `size`. */
static void box_cut(int32_t at, int32_t half, int32_t size, int32_t *first_out, int32_t *count_out)
{
	int32_t first = at - half < 0 ? 0 : at - half;
	int32_t end = at + half > size ? size : at + half;
	*first_out = first;
	*count_out = end - first;
}

struct mix_share mix_draw(const struct mix *mix, const struct draw_key *key, int32_t width,
			  int32_t height)
{
	const struct draw_key pair = {key->seed, key->epoch, key->position >> 1};
	uint32_t first = (uint32_t)mix->index << 16;
	double lambda = draw_beta(&pair, first, mix->alpha);
	struct mix_share share = {.own = (float)lambda, .other = (float)(1.0 - lambda)};
	if (!mix->cuts)
		return share;
	int32_t x = (int32_t)draw_below(&pair, first + 65534, (uint64_t)width);
	int32_t y = (int32_t)draw_below(&pair, first + 65535, (uint64_t)height);
	double r = 0.5 * sqrt(1.0 - lambda);
	struct rect *box = &share.box;
	box_cut(x, (int32_t)(r * width), width, &box->x, &box->width);
	box_cut(y, (int32_t)(r * height), height, &box->y, &box->height);
	lambda = 1.0 - (double)box->width * box->height / ((double)width * height);
	share.own = (float)lambda;
	share.other = (float)(1.0 - lambda);
	return share;
}

static float single_of_half(enum output_type type, uint16_t half)
{
	uint32_t bits = (uint32_t)half << 16;
	float number;
	if (type == OUTPUT_FLOAT16) {
		uint32_t sign = (uint32_t)(half >> 15) << 31, exponent = half >> 10 & 31;
		uint32_t fraction = half & 1023;
		if (exponent == 0) {
			number = ldexpf((float)fraction, -24);
			return sign ? -number : number;
		}
		exponent = exponent == 31 ? 255 : exponent + 112;
		bits = sign | exponent << 23 | fraction << 13;
	}
	memcpy(&number, &bits, sizeof(number));
	return number;
}

static float mixed(const struct mix_share *share, float own, float other)
{
	float a = own * share->own, b = other * share->other;
	return a + b;
}

static void mix_up(const struct mix_share *share, const struct output *output, void *array,
		   const void *other)
{
	size_t count = 3 * (size_t)output->width * (size_t)output->height;
	if (output->type == OUTPUT_FLOAT32) {
		float *to = array;
		const float *from = other;
		for (size_t i = 0; i < count; i++)
			to[i] = mixed(share, to[i], from[i]);
		return;
	}
	uint16_t *to = array;
	const uint16_t *from = other;
	for (size_t i = 0; i < count; i++)
		to[i] = output_half(output->type, mixed(share, single_of_half(output->type, to[i]),
							single_of_half(output->type, from[i])));
}

/* Rows of the box, in each plane or with all channels side by side. */
static void mix_cut(const struct rect *box, const struct output *output, uint8_t *array,
		    const uint8_t *other)
{
	size_t width = (size_t)output->width, height = (size_t)output->height;
	size_t pixel = (output->type == OUTPUT_FLOAT32 ? 4 : 2) * (output->planes ? 1u : 3u);
	size_t planes = output->planes ? 3 : 1;
	for (size_t plane = 0; plane < planes; plane++) {
		for (size_t y = 0; y < (size_t)box->height; y++) {
			size_t row = plane * height + (size_t)box->y + y;
			size_t at = (row * width + (size_t)box->x) * pixel;
			memcpy(array + at, other + at, (size_t)box->width * pixel);
		}
	}
}

void mix_arrays(const struct mix *mix, const struct mix_share *share, const struct output *output,
		void *array, const void *other)
{
	if (mix->cuts)
		mix_cut(&share->box, output, array, other);
	else
		mix_up(share, output, array, other);
}

void mix_labels(const struct mix_share *share, float *label, const float *other, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		label[i] = mixed(share, label[i], other[i]);
}
