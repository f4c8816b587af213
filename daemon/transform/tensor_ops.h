/* SPDX-License-Identifier: MIT */
/*
 * The end of a pipeline whose numbers are no bytes: ImageDataGenerator, which makes the array from
 * the picture that the list before it made, and RandomErasing, which changes the array that is
 * made. A list without them has no tail and pays nothing. Knows no list and no stage; checks what
 * it is given against the output. Immutable once made; its scratch is one worker's.
 */
#ifndef STOKER_TRANSFORM_TENSOR_OPS_H
#define STOKER_TRANSFORM_TENSOR_OPS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/cpu.h"
#include "base/fault.h"
#include "base/image.h"
#include "base/philox.h"
#include "transform/erase.h"
#include "transform/keras/keras.h"
#include "transform/output.h"
#include "transform/transform.h"

#define TAIL_ERASINGS_MAX 4

struct tail {
	bool generates;
	struct keras keras;
	unsigned generator; /* its place in the list */
	struct erase erasings[TAIL_ERASINGS_MAX];
	unsigned count;
	struct output bytes; /* of the picture before the generator */
};

struct tail_scratch {
	struct buffer bytes, numbers, lines;
};

enum {
	TAIL_E_VALUE = 1,
};

/* Add `transform`, number `index` of its list, behind what makes `output`. 0 or TAIL_E_VALUE. */
int tail_add(struct tail *tail, const struct transform *transform, unsigned index,
	     const struct output *output, struct fault *fault);

/* With tail->keras.fits: what its statistics are, which outlive it. 0 or TAIL_E_VALUE. */
int tail_fit(struct tail *tail, const struct statistics *statistics, struct fault *fault);

/* With tail->generates: room in `scratch` for the picture that the generator takes, which is to be
 * written there in the form of tail->bytes. 0 or -ENOMEM. */
int tail_picture(const struct tail *tail, struct tail_scratch *scratch, struct image *out);

/* The generator: `image` is whole and as large as the output. 0 or -ENOMEM. */
int tail_generate(const struct tail *tail, const struct draw_key *key, const struct image *image,
		  enum cpu cpu, struct tail_scratch *scratch, const struct output *output,
		  void *array);
void tail_erase(const struct tail *tail, const struct draw_key *key, const struct output *output,
		void *array);

void tail_scratch_deinit(struct tail_scratch *scratch);

#endif
