/* SPDX-License-Identifier: MIT */
/*
 * The last step of a wide picture: rows of uint16 or float32 to an array of the wanted dtype and
 * layout. As uint16 they stay as they are. As floats, those of a uint16 picture are divided by
 * 65535, as torchvision's to_dtype(scale=True) does, and those of a float32 picture are what the
 * file has; then (value - mean) / std of Normalize, each operation rounded to float32. Any thread.
 */
#ifndef STOKER_TRANSFORM_WIDE_WIDE_OUTPUT_H
#define STOKER_TRANSFORM_WIDE_WIDE_OUTPUT_H

#include "transform/output.h"

/* Set mean and deviation of three channels, or of all; both NULL: there is no Normalize. */
void wide_output_normalize(struct output *output, const double *mean, const double *std);
/* Write row y of the picture. */
void wide_output_row(const struct output *output, void *array, int32_t y, const uint8_t *row);

#endif
