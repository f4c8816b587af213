/* SPDX-License-Identifier: MIT */
/*
 * Images to look at: PNG files, and the transforms that give a visible image. Knows no daemon. The
 * only file of stokerctl that uses libspng.
 */
#ifndef STOKER_CTL_PICTURE_H
#define STOKER_CTL_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/c/fault.h"

/* Bytes, by rows, by pixels. */
struct picture {
	uint32_t width, height, channels; /* 1 or 3 */
	const uint8_t *pixels;
};

/* 0 or a negative errno, explained in `fault`. */
int picture_write(const struct picture *picture, const char *path, struct fault *fault);

/* Does the list have a transform of this name? */
bool picture_has(const char *transforms, const char *name);

/* The list of transforms without Normalize, and with NHWC output of uint8, or of float32 where the
 * transforms give fractions. The dtype and layout at its end are replaced; draft stays. The caller
 * frees it; NULL: no memory. */
char *picture_transforms(const char *transforms);

#endif
