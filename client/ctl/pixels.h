/* SPDX-License-Identifier: MIT */
/*
 * A sample's array as a picture for people, whatever became of its numbers: fractions as bytes, its
 * views one below the other. Plain memory.
 */
#ifndef STOKER_CTL_PIXELS_H
#define STOKER_CTL_PIXELS_H

#include <stdbool.h>

#include "client/c/stoker.h"
#include "client/ctl/picture.h"

struct pixels {
	struct picture picture; /* of all views; the last one made */
	bool fractions;		/* numbers are float32 */
	uint8_t *bytes;		/* owned; of those */
};

/* Of arrays of this kind, pixel by pixel, uint8 or float32. 0, -EPROTO if they are no pictures, or
 * -ENOMEM; with words. */
int pixels_init(struct pixels *out, const struct stoker_field *field, struct fault *fault);
void pixels_deinit(struct pixels *pixels);

/* Of fractions, what is between 0 and 1 is a pixel; where `stretched`, what goes up to 255, too,
 * and other numbers from the least to the greatest. Valid until the next, and as long as the array.
 */
const struct picture *pixels_make(struct pixels *pixels, const void *array, bool stretched);

#endif
