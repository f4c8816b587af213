/* SPDX-License-Identifier: MIT */
/*
 * Rules of Pillow for the chunks of a PNG beside those of its pixels: how long each is at least,
 * how its text or profile is packed, and in which order the parts of an animation come. One walk,
 * from the first chunk to the last one that Pillow looks at. Pure; any thread. Knows no pixels.
 */
#ifndef STOKER_DECODE_PNG_RULES_H
#define STOKER_DECODE_PNG_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

struct png_chunk;

/* Begins as {width, height} of the picture. */
struct png_rules {
	uint32_t width, height;
	bool behind;	/* set by the caller: the chunks of the pixels were passed */
	bool announced; /* an animation was, of `frames` */
	bool counting;	/* one of its parts was there: `number` is the last one's */
	uint32_t frames, number;
};

/* The next chunk, which is complete: 0 or a condition of decode.h. */
int png_rules_take(struct png_rules *rules, const struct png_chunk *chunk, struct fault *fault);
/* Has the file more than the first picture? Known where its pixels begin. */
bool png_rules_animated(const struct png_rules *rules);

#endif
