/* SPDX-License-Identifier: MIT */
/*
 * The array of a sample as an image to look at: fractions become bytes, and views are put one below
 * the other. Plain memory.
 */
#ifndef STOKER_CTL_PIXELS_H
#define STOKER_CTL_PIXELS_H

#include <stdbool.h>

#include "client/c/stoker.h"
#include "client/ctl/show/picture.h"

struct pixels {
	struct picture picture; /* the last one made, with all views */
	bool fractions;		/* the numbers are float32 */
	uint32_t channels;	/* of the array; a fourth one is left out */
	uint8_t *bytes;		/* owned; the fractions as bytes */
};

/* For NHWC arrays of this field, of uint8 or float32. 0, -EPROTO if they are not images, or
 * -ENOMEM; explained in `fault`. */
int pixels_init(struct pixels *out, const struct stoker_field *field, struct fault *fault);
void pixels_deinit(struct pixels *pixels);

/* Fractions from 0 to 1 are black to white. With `stretched`, numbers up to 255 are pixels as they
 * are, and any others are scaled from the least to the greatest. Valid until the next call, and as
 * long as the array. */
const struct picture *pixels_make(struct pixels *pixels, const void *array, bool stretched);

#endif
