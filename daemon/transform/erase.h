/* SPDX-License-Identifier: MIT */
/*
 * RandomErasing: a box of a finished array gets other numbers, as torchvision does it to tensors.
 * Works on the slot itself, in its dtype and layout, so it costs no more than the box. Knows
 * nothing of what came before. A worker's thread; struct erase is immutable once made.
 */
#ifndef STOKER_TRANSFORM_ERASE_H
#define STOKER_TRANSFORM_ERASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/image.h"
#include "base/philox.h"
#include "transform/output.h"
#include "transform/transform.h"

struct erase {
	double p, scale[2], ratio[2];
	bool random; /* normals, rather than `value` */
	float value[3];
	unsigned index; /* of the transform in its list: its draws' numbers */
};

enum {
	ERASE_E_VALUE = 1,
};

/* 0 or ERASE_E_VALUE: an array of `output` cannot hold what would be written. */
int erase_make(struct erase *out, const struct transform *transform, unsigned index,
	       const struct output *output, struct fault *fault);

/* Whether a box is erased for this sample, and which. */
bool erase_draw(const struct erase *erase, const struct draw_key *key, int32_t width,
		int32_t height, struct rect *box_out);

/* Draw, and erase in `array`. */
void erase_run(const struct erase *erase, const struct draw_key *key, const struct output *output,
	       void *array);

#endif
