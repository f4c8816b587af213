/* SPDX-License-Identifier: MIT */
#include "client/ctl/show/pixels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COLOURS 3

/* Scale by which a number becomes a byte. */
struct scale {
	float least, factor;
};

int pixels_init(struct pixels *out, const struct stoker_field *field, struct fault *fault)
{
	const uint32_t views = field->dims == 4 ? field->shape[0] : 1;
	const uint32_t *shape = field->shape + (field->dims == 4);
	const bool fractions = strcmp(field->dtype, "float32") == 0;
	if ((!fractions && (strcmp(field->dtype, "uint8") != 0 || shape[2] > COLOURS)) ||
	    field->dims < 3 || field->dims > 4 ||
	    (shape[2] != 1 && shape[2] != 3 && shape[2] != COLOURS + 1))
		return fault_say(fault, -EPROTO, "these transforms do not give images");
	struct pixels pixels = {
		.picture = {shape[1], views * shape[0], shape[2] == 1 ? 1 : COLOURS, NULL},
		.fractions = fractions,
		.channels = shape[2],
		.bytes = fractions ? malloc(field->bytes / sizeof(float)) : NULL,
	};
	if (fractions && !pixels.bytes)
		return fault_say(fault, -ENOMEM, "out of memory");
	*out = pixels;
	return 0;
}

void pixels_deinit(struct pixels *pixels)
{
	free(pixels->bytes);
	*pixels = (struct pixels){0};
}

/* Find one scale for all views of the sample. */
static struct scale find_scale(const float *numbers, size_t count)
{
	float least = 0, most = 0;
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || numbers[i] < least)
			least = numbers[i];
		if (i == 0 || numbers[i] > most)
			most = numbers[i];
	}
	if (least < -0.05f || most > 255.5f)
		return (struct scale){least, most > least ? 255 / (most - least) : 0};
	return (struct scale){0, most > 1.05f ? 1 : 255};
}

static uint8_t scaled(const struct scale *scale, float number)
{
	float byte = (number - scale->least) * scale->factor + 0.5f;
	/* Written so that NaN becomes black. */
	return byte > 0 ? (byte < 255 ? (uint8_t)byte : 255) : 0;
}

const struct picture *pixels_make(struct pixels *pixels, const void *array, bool stretched)
{
	struct picture *picture = &pixels->picture;
	const size_t count = (size_t)picture->width * picture->height;
	const float *numbers = array;
	struct scale scale = {0, 255};
	if (!pixels->fractions) {
		picture->pixels = array;
		return picture;
	}
	if (stretched)
		scale = find_scale(numbers, count * pixels->channels);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < picture->channels; k++)
			pixels->bytes[i * picture->channels + k] =
				scaled(&scale, numbers[i * pixels->channels + k]);
	picture->pixels = pixels->bytes;
	return picture;
}
