/* SPDX-License-Identifier: MIT */
/*
 * The last step: rows of RGB bytes to an array of the wanted dtype and layout, through a table of
 * 256 values a channel. Float values are what torch computes in float32 for ToTensor and Normalize,
 * (byte / 255 - mean) / std with each operation rounded; float16 and bfloat16 are those, rounded to
 * nearest even. Immutable once made; any thread.
 *
 * Large arrays are written past the caches where that is faster: call output_end() behind the last
 * row.
 */
#ifndef STOKER_TRANSFORM_OUTPUT_H
#define STOKER_TRANSFORM_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"
#include "base/image.h"
#include "proto/value.h"

enum output_type {
	OUTPUT_UINT8,
	OUTPUT_FLOAT16,
	OUTPUT_BFLOAT16,
	OUTPUT_FLOAT32,
	OUTPUT_UINT16, /* of wide pictures only */
};

/*
 * A channel's values as a formula, for kernels that compute them instead of looking them up:
 * x = fma(byte, 1/255, byte * its rounding error) - mean; x = fma(x, inverse, x * rest), which has
 * the rounding errors of the inverse. For most means and deviations that gives the table's values,
 * to the bit.
 */
struct output_line {
	float mean, inverse, rest;
};

struct output {
	enum output_type type;
	struct image_form form; /* wide rows: see wide/wide_output.h; else RGB bytes */
	bool planes;		/* NCHW */
	bool gray;		/* one channel: the first of the three, which are equal */
	bool lined;		/* `line` gives all of the table's values */
	int32_t width, height;
	struct output_line line[3];
	union {
		float single[3][256];
		uint16_t half[3][256];
		struct {
			float mean[3], std[3];
			bool normalized;
		} wide;
	} table;
};

/* False: there is no such dtype or layout. An empty text is float32, NCHW. */
bool output_parse_type(struct text text, enum output_type *out);
bool output_parse_layout(struct text text, bool *planes_out);
const char *output_type_name(enum output_type type);
/* Size of an array of three channels. */
uint64_t output_bytes(enum output_type type, int32_t width, int32_t height);

/* Fill the tables; `mean` and `std` have three channels, or both are NULL. */
void output_tabulate(struct output *output, const double *mean, const double *std);

/* Writes row y (3 * width bytes, BUFFER_SLACK readable behind them) of the picture to the array. */
typedef void output_row(const struct output *output, void *array, int32_t y, const uint8_t *row);

/* A number in the bits of float16 or bfloat16, whichever `type` is. */
uint16_t output_half(enum output_type type, float number);

/* The fastest function for this output; the bytes do not depend on `cpu`. */
output_row *output_row_for(const struct output *output, enum cpu cpu);
/* Behind the last row: a memory fence for writes past the caches. */
void output_end(enum cpu cpu);

#endif
