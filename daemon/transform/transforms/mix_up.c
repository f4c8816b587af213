// SPDX-License-Identifier: MIT
/*
 * MixUp: own * lambda + partner * (1 - lambda), of arrays and labels, in float32. Of a half dtype
 * the result is rounded to it. Draws lambda: mixing.c.
 */
#include <math.h>
#include <string.h>

#include "transform/output.h"
#include "transform/registry.h"
#include "transform/transforms/mixing.h"

enum { ALPHA };

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

static void mix_singles(const struct mix_share *share, size_t count, float *to, const float *from)
{
	for (size_t i = 0; i < count; i++)
		to[i] = mix_number(share, to[i], from[i]);
}

static void mix_halves(const struct mix_share *share, enum output_type type, size_t count,
		       uint16_t *to, const uint16_t *from)
{
	for (size_t i = 0; i < count; i++)
		to[i] = output_half(type, mix_number(share, single_of_half(type, to[i]),
						     single_of_half(type, from[i])));
}

static struct mix_share mix(const struct transform *transform, const struct draws *draws,
			    const struct output *output, void *array, const void *partner)
{
	const struct mix_share share =
		mix_share_of(mix_lambda(draws, transform->values[ALPHA].number[0]));
	size_t count = 3 * (size_t)output->width * (size_t)output->height;
	if (output->type == OUTPUT_FLOAT32)
		mix_singles(&share, count, array, partner);
	else
		mix_halves(&share, output->type, count, array, partner);
	return share;
}

const struct transform_row transform_mix_up = {
	.name = "MixUp",
	.parameters =
		{
			[ALPHA] = {.name = "alpha",
				   .type = PARAMETER_NUMBER,
				   .least = 0.01,
				   .most = 4,
				   .standard = {1, {0.2}}},
		},
	.mix = mix,
	.fractions = true,
};
