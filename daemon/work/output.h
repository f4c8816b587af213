/* SPDX-License-Identifier: MIT */
/*
 * The last step: rows of RGB bytes to an array of the dtype and layout asked for, through a table
 * of 256 values a channel. Float values are what torch computes in float32 for ToTensor and
 * Normalize, (byte / 255 - mean) / std with each operation rounded; float16 and bfloat16 are those,
 * rounded to nearest even. Immutable once made; any thread.
 */
#ifndef STOKER_WORK_OUTPUT_H
#define STOKER_WORK_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/value.h"

enum output_type {
	OUTPUT_UINT8,
	OUTPUT_FLOAT16,
	OUTPUT_BFLOAT16,
	OUTPUT_FLOAT32,
};

struct output {
	enum output_type type;
	bool planes; /* NCHW */
	int32_t width, height;
	union {
		float single[3][256];
		uint16_t half[3][256];
	} table;
};

/* False: no such dtype or layout. An empty text is float32, NCHW. */
bool output_parse_type(struct text text, enum output_type *out);
bool output_parse_layout(struct text text, bool *planes_out);
const char *output_type_name(enum output_type type);
uint64_t output_bytes(enum output_type type, int32_t width, int32_t height);

/* Fill the tables; `mean` and `std` are of three channels, or NULL for neither. */
void output_tabulate(struct output *output, const double *mean, const double *std);

/* Write row y (3 * width bytes) of the picture to the array. */
void output_row(const struct output *output, void *array, int32_t y, const uint8_t *row);

#endif
