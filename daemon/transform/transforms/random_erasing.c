// SPDX-License-Identifier: MIT
/*
 * RandomErasing: a box of the finished array gets other numbers, as torchvision does it to tensors.
 * Works in the slot, in its dtype and layout, so it costs no more than the box. Draws: erased if
 * uniform(0) < p; then for try k = 0 to 9, until the box is smaller than the picture on both axes
 * (else nothing is erased):
 *	area = height * width * (scale[0] + uniform(4k + 1) * (scale[1] - scale[0]))
 *	ratio = exp(log(ratio[0]) + uniform(4k + 2) * (log(ratio[1]) - log(ratio[0])))
 *	h = round(sqrt(area * ratio)), w = round(sqrt(area / ratio)), halves to even
 *	top = below(4k + 3, height - h + 1), left = below(4k + 4, width - w + 1)
 * value="random": element e of the box, counted as in an array (channel, row, column), is half of
 * what draw 2^31 + t * 2^24 + e / 2 gives by the Box-Muller method, for index t of the list: the
 * cosine for an even e and the sine for an odd one, see draw_normals().
 */
#include <math.h>

#include "base/image.h"
#include "transform/draws.h"
#include "transform/output.h"
#include "transform/portable_math.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { P, SCALE, RATIO, VALUE, INPLACE };

#define TRIES 10
#define NORMALS_MAX (1 << 25) /* of a transform: two a draw */

static int accept(const struct transform *transform, const struct output *output,
		  struct fault *fault)
{
	const struct parameter *value = &transform->values[VALUE];
	bool random = value->count == 0;
	for (int i = 0; i < 3 && output->type == OUTPUT_UINT8; i++) {
		if (random || value->number[i] < 0.0 || value->number[i] > 255.0)
			return fault_say(fault, TRANSFORM_E_VALUE,
					 "RandomErasing: dtype uint8 holds a 'value' of 0 to 255 "
					 "only");
	}
	if (random && 3 * (int64_t)output->width * output->height > NORMALS_MAX)
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "RandomErasing: a picture of %d x %d is too large for "
				 "value='random'",
				 output->width, output->height);
	return 0;
}

/* Draw whether a box is erased, and which. */
static bool box_draw(const struct transform *transform, const struct draws *draws, int32_t width,
		     int32_t height, struct rect *box_out)
{
	const double *scale = transform->values[SCALE].number;
	const double *ratio = transform->values[RATIO].number;
	if (!draws_chance(draws, transform->values[P].number[0]))
		return false;
	const double logs[2] = {portable_log(ratio[0]), portable_log(ratio[1])};
	for (uint32_t n = 1; n < 1 + 4 * TRIES; n += 4) {
		double area = (double)width * height * draws_between(draws, n, scale);
		double shape = portable_exp(draws_between(draws, n + 1, logs));
		double h = round_even(sqrt(area * shape)), w = round_even(sqrt(area / shape));
		if (!(h < height && w < width))
			continue;
		struct rect box = {.width = (int32_t)w, .height = (int32_t)h};
		box.y = draws_below(draws, n + 2, height - box.height + 1);
		box.x = draws_below(draws, n + 3, width - box.width + 1);
		*box_out = box;
		return true;
	}
	return false;
}

/* Two normals of one block of four words: r cos(a) and r sin(a), r = sqrt(-2 log(u)), a = 2 pi v,
 * with 53 bits of the first two words for u, in (0, 1], and of the last two for v, in [0, 1). */
static void draw_normals(const struct draw_key *key, uint32_t draw, float out[2])
{
	const uint32_t counter[4] = {draw, key->epoch, (uint32_t)key->position,
				     (uint32_t)(key->position >> 32)};
	struct philox block = philox(key->seed, counter);
	uint64_t u = (uint64_t)block.word[1] << 32 | block.word[0];
	uint64_t v = (uint64_t)block.word[3] << 32 | block.word[2];
	double r = sqrt(-2.0 * portable_log((double)((u >> 11) + 1) * 0x1p-53));
	double a = 0x1.921fb54442d18p+2 * ((double)(v >> 11) * 0x1p-53);
	out[0] = (float)(r * portable_cos(a));
	out[1] = (float)(r * portable_sin(a));
}

static void put(const struct output *output, void *array, size_t at, float number)
{
	switch (output->type) {
	case OUTPUT_UINT8:
		((uint8_t *)array)[at] = (uint8_t)number;
		break;
	case OUTPUT_FLOAT32:
		((float *)array)[at] = number;
		break;
	default:
		((uint16_t *)array)[at] = output_half(output->type, number);
		break;
	}
}

static void change(const struct transform *transform, const struct draws *draws,
		   const struct output *output, void *array)
{
	const struct parameter *value = &transform->values[VALUE];
	const bool random = value->count == 0;
	struct rect box;
	if (!box_draw(transform, draws, output->width, output->height, &box))
		return;
	size_t width = (size_t)output->width, plane = width * (size_t)output->height;
	size_t apart = output->planes ? 1 : 3;
	uint32_t element = 0, first_normal = 0x80000000u | draws->first >> 16 << 24;
	float normals[2];
	for (size_t channel = 0; channel < 3; channel++) {
		size_t start = channel * (output->planes ? plane : 1);
		const float number = (float)value->number[channel];
		for (int32_t y = box.y; y < box.y + box.height; y++) {
			size_t at = start + apart * ((size_t)y * width + (size_t)box.x);
			for (int32_t x = 0; x < box.width; x++, at += apart, element++) {
				if (random && element % 2 == 0)
					draw_normals(draws->key, first_normal + element / 2,
						     normals);
				put(output, array, at, random ? normals[element % 2] : number);
			}
		}
	}
}

const struct transform_row transform_random_erasing = {
	.name = "RandomErasing",
	.parameters =
		{
			[P] = COMMON_P(0.5),
			[SCALE] = {.name = "scale",
				   .type = PARAMETER_INTERVAL,
				   .most = 1,
				   .standard = {2, {0.02, 0.33}}},
			[RATIO] = {.name = "ratio",
				   .type = PARAMETER_INTERVAL,
				   .least = 0.0001,
				   .most = 10000,
				   .standard = {2, {0.3, 3.3}}},
			[VALUE] = {.name = "value",
				   .type = PARAMETER_PAINT,
				   .least = -1e6,
				   .most = 1e6,
				   .standard = {3, {0}}},
			[INPLACE] = {.name = "inplace",
				     .type = PARAMETER_IGNORED,
				     .standard = {1, {false}}},
		},
	.change = change,
	.accept = accept,
};
