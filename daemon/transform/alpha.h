/* SPDX-License-Identifier: MIT */
/*
 * Runs the passes of a picture with alpha as Pillow treats its mode RGBA: before a filter looks at
 * several pixels, their colours are multiplied by alpha, and behind it they are divided by it.
 * Colours and alpha are two pictures of three channels each, and the passes run for both; of alpha
 * the three are equal.
 *
 * Owns what lies between. Knows no transform. One worker's.
 */
#ifndef STOKER_TRANSFORM_ALPHA_H
#define STOKER_TRANSFORM_ALPHA_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/image.h"
#include "transform/output.h"
#include "transform/passes.h"
#include "transform/steps.h"

struct alpha_scratch {
	struct buffer multiplied;      /* colours by alpha */
	struct buffer colours, shades; /* what the passes make of both */
	struct buffer numbers;	       /* of four channels */
};

/*
 * After passes_plan(). `alpha` NULL: all is opaque. `filters`: a step of the list looks at several
 * pixels. `bytes` is the form of the result, of which `out` shows float32 numbers of four channels,
 * in `scratch`. 0, PASS_E_STOPPED or -ENOMEM.
 */
int alpha_run(struct alpha_scratch *scratch, struct passes *passes, const struct steps *steps,
	      const struct image *colours, const struct image *alpha, bool filters,
	      const struct output *bytes, struct image *out, struct cancel *cancel);
/* Free what a large picture took. */
void alpha_scratch_trim(struct alpha_scratch *scratch);
void alpha_scratch_deinit(struct alpha_scratch *scratch);

#endif
