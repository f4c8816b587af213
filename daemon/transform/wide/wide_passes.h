/* SPDX-License-Identifier: MIT */
/*
 * Passes over a wide picture (base/image.h): resizes in Pillow's arithmetic of its modes I;16 and
 * F, each channel by itself, and moves of pixels. Colours and warps are refused when the list is
 * checked. Uses the plan and the memory of passes.h. A worker's thread.
 */
#ifndef STOKER_TRANSFORM_WIDE_WIDE_PASSES_H
#define STOKER_TRANSFORM_WIDE_WIDE_PASSES_H

#include "transform/passes.h"

/* As passes_run(), of an image of the form of `output`. */
int wide_passes_run(struct passes *passes, const struct steps *steps, const struct image *image,
		    const struct output *output, void *array, struct cancel *cancel);

#endif
