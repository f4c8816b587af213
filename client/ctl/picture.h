/* SPDX-License-Identifier: MIT */
/*
 * Pictures for people: which transforms make one, and PNG files of them. Knows no daemon. The door
 * to libspng of this program.
 */
#ifndef STOKER_CTL_PICTURE_H
#define STOKER_CTL_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/c/fault.h"

/* Bytes, row by row, pixel by pixel. */
struct picture {
	uint32_t width, height, channels; /* 1 or 3 */
	const uint8_t *pixels;
};

/* 0 or a negative errno, with words. */
int picture_write(const struct picture *picture, const char *path, struct fault *fault);

/* Is one of the list's transforms of this name? */
bool picture_has(const char *transforms, const char *name);

/* A list of transforms without Normalize, which makes numbers of a picture, and with its output as
 * bytes, or as float32 where it makes fractions, pixel by pixel. What stands at its end of dtype
 * and layout goes; draft stays. The caller's to free; NULL: no memory. */
char *picture_transforms(const char *transforms);

#endif
