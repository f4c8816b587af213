// SPDX-License-Identifier: MIT
/*
 * Draw n of transform t of the list is number t * 65536 + n of the sample, uniform() in [0, 1),
 * below(n, m) a whole number in [0, m):
 *	erased if uniform(0) < p; then for try k = 0 to 9, until the box is smaller than the picture
 *	on both axes (else nothing is erased):
 *		area = height * width * (scale[0] + uniform(4k + 1) * (scale[1] - scale[0]))
 *		ratio = exp(log(ratio[0]) + uniform(4k + 2) * (log(ratio[1]) - log(ratio[0])))
 *		h = round(sqrt(area * ratio)), w = round(sqrt(area / ratio)), halves to even
 *		top = below(4k + 3, height - h + 1), left = below(4k + 4, width - w + 1)
 * value="random": element e of the box, counted as in an array (channel, row, column), is half of
 * what draw 2^31 + t * 2^24 + e / 2 gives by Box and Muller, the cosine for an even e and the sine
 * for an odd one: see draw_normals().
 */
#include "transform/erase.h"

#include <math.h>
#include <string.h>

#include "base/exact.h"
#include "transform/step.h"

#define NORMALS_MAX (1 << 25) /* of a transform: two a draw */

int erase_make(struct erase *out, const struct transform *transform, unsigned index,
	       const struct output *output, struct fault *fault)
{
	const struct parameter *value = &transform->values[ERASING_VALUE];
	const double *scale = transform->values[ERASING_SCALE].number;
	const double *ratio = transform->values[ERASING_RATIO].number;
	struct erase erase = {
		.p = transform->values[ERASING_P].number[0],
		.scale = {scale[0], scale[1]},
		.ratio = {ratio[0], ratio[1]},
		.random = value->count == 0,
		.index = index,
	};
	for (int i = 0; i < 3; i++) {
		erase.value[i] = (float)value->number[i];
		if (output->type == OUTPUT_UINT8 &&
		    (erase.random || value->number[i] < 0.0 || value->number[i] > 255.0))
			return fault_say(fault, ERASE_E_VALUE,
					 "RandomErasing: dtype uint8 holds a 'value' of 0 to 255 "
					 "only");
	}
	if (erase.random && 3 * (int64_t)output->width * output->height > NORMALS_MAX)
		return fault_say(fault, ERASE_E_VALUE,
				 "RandomErasing: a picture of %d x %d is too large for "
				 "value='random'",
				 output->width, output->height);
	*out = erase;
	return 0;
}

bool erase_draw(const struct erase *erase, const struct draw_key *key, int32_t width,
		int32_t height, struct rect *box_out)
{
	uint32_t first = erase->index << 16;
	if (!(draw_uniform(key, first) < erase->p))
		return false;
	const double low = exact_log(erase->ratio[0]), high = exact_log(erase->ratio[1]);
	for (uint32_t try = first + 1; try < first + 41; try += 4) {
		double area = (double)width * height *
			      (erase->scale[0] +
			       draw_uniform(key, try) * (erase->scale[1] - erase->scale[0]));
		double ratio = exact_exp(low + draw_uniform(key, try + 1) * (high - low));
		double h = round_even(sqrt(area * ratio)), w = round_even(sqrt(area / ratio));
		if (!(h < height && w < width))
			continue;
		struct rect box = {.width = (int32_t)w, .height = (int32_t)h};
		box.y = (int32_t)draw_below(key, try + 2, (uint64_t)(height - box.height + 1));
		box.x = (int32_t)draw_below(key, try + 3, (uint64_t)(width - box.width + 1));
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
	double r = sqrt(-2.0 * exact_log((double)((u >> 11) + 1) * 0x1p-53));
	double a = 0x1.921fb54442d18p+2 * ((double)(v >> 11) * 0x1p-53);
	out[0] = (float)(r * exact_cos(a));
	out[1] = (float)(r * exact_sin(a));
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

void erase_run(const struct erase *erase, const struct draw_key *key, const struct output *output,
	       void *array)
{
	struct rect box;
	if (!erase_draw(erase, key, output->width, output->height, &box))
		return;
	size_t width = (size_t)output->width, plane = width * (size_t)output->height;
	size_t apart = output->planes ? 1 : 3;
	uint32_t element = 0, draw = 0x80000000u | erase->index << 24;
	float normals[2];
	for (size_t channel = 0; channel < 3; channel++) {
		size_t start = channel * (output->planes ? plane : 1);
		for (int32_t y = box.y; y < box.y + box.height; y++) {
			size_t at = start + apart * ((size_t)y * width + (size_t)box.x);
			for (int32_t x = 0; x < box.width; x++, at += apart, element++) {
				if (erase->random && element % 2 == 0)
					draw_normals(key, draw + element / 2, normals);
				put(output, array, at,
				    erase->random ? normals[element % 2] : erase->value[channel]);
			}
		}
	}
}
