/* SPDX-License-Identifier: MIT */
/*
 * Loops over the bytes of a row, for changes of colour, compiled for each instruction set that is
 * worth it; the bytes are the same. Rows do not overlap. Immutable; any thread.
 */
#ifndef STOKER_TRANSFORM_COLOUR_ROWS_H
#define STOKER_TRANSFORM_COLOUR_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

struct colour_rows {
	/* Luma, once for each channel. */
	void (*gray)(uint8_t *out, const uint8_t *row, size_t pixels);
	/* `from` at amount 0, `to` at 1, extrapolated beyond. */
	void (*blend)(uint8_t *out, const uint8_t *from, const uint8_t *to, float amount,
		      size_t bytes);
	/* Pillow's SMOOTH; the first and the last pixel are copied. At least 3 pixels. */
	void (*smooth)(uint8_t *out, const uint8_t *above, const uint8_t *row, const uint8_t *below,
		       size_t bytes);
	/* Turn the hue by `turn` / 256 of a circle. */
	void (*hue)(uint8_t *out, const uint8_t *row, uint8_t turn, size_t pixels);
	void (*widen)(float *out, const uint8_t *row, size_t bytes);
	/* The sum over k of weights[k] * rows[k]. */
	void (*weigh)(float *out, const float *const *rows, const float *weights, int32_t count,
		      size_t numbers);
	void (*round)(uint8_t *out, const float *row, size_t bytes); /* halves to even */
};

const struct colour_rows *colour_rows_for(enum cpu cpu);

#endif
