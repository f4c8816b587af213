/* SPDX-License-Identifier: MIT */
/*
 * The end of a list of transforms, which works on arrays: a generator (ImageDataGenerator) makes
 * the array of the picture that the transforms before it have made; others change the array that is
 * made (RandomErasing), mix it with that of a mix partner (MixUp) or make one of four (Mosaic).
 * Their order was checked with the list. Immutable once made; its scratch is one worker's.
 */
#ifndef STOKER_TRANSFORM_TENSOR_OPS_H
#define STOKER_TRANSFORM_TENSOR_OPS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/cpu.h"
#include "base/fault.h"
#include "base/image.h"
#include "base/philox.h"
#include "transform/keras/keras.h"
#include "transform/output.h"
#include "transform/transform.h"
#include "transform/transforms/detection/tile.h"

struct tensor_ops {
	const struct transform *transforms; /* borrowed */
	unsigned count;
	unsigned index; /* of the first one in the list: its draws */
	bool generates; /* the first one is a generator: `keras`, which takes a `picture` */
	struct keras keras;
	struct output picture; /* bytes, NHWC */
};

struct tensor_ops_scratch {
	struct buffer bytes, numbers, lines;
};

enum {
	TENSOR_OPS_E_VALUE = 1,
};

/* Make ready `count` transforms, the first of which is number `index` of its list, for arrays of
 * `output`. The transforms outlive it. 0 or TENSOR_OPS_E_VALUE. */
int tensor_ops_make(struct tensor_ops *out, const struct transform *transforms, unsigned count,
		    unsigned index, const struct output *output, struct fault *fault);

/* The generator, alone, takes float32 numbers of so many channels instead of pictures of bytes. 0
 * or TENSOR_OPS_E_VALUE. */
int tensor_ops_take_numbers(struct tensor_ops *ops, uint32_t channels, struct fault *fault);

/* With ops->keras.fits: its statistics, which outlive it. 0 or TENSOR_OPS_E_VALUE. */
int tensor_ops_fit(struct tensor_ops *ops, const struct statistics *statistics,
		   struct fault *fault);

/* With ops->generates: memory in `scratch` for the picture that the generator takes, to be written
 * in the form of ops->picture. 0 or -ENOMEM. */
int tensor_ops_picture(const struct tensor_ops *ops, struct tensor_ops_scratch *scratch,
		       struct image *out);

/* Generate the array; `image` is whole and as large as the output. 0 or -ENOMEM. */
int tensor_ops_generate(const struct tensor_ops *ops, const struct draw_key *key,
			const struct image *image, enum cpu cpu, struct tensor_ops_scratch *scratch,
			const struct output *output, void *array);
/* Change the finished array, in place. */
void tensor_ops_change(const struct tensor_ops *ops, const struct draw_key *key,
		       const struct output *output, void *array);

/* Count of other samples that each is joined with: 1 where the last transform mixes, or is a choice
 * of such, 3 of a mosaic, else 0. */
uint32_t tensor_ops_partners(const struct tensor_ops *ops);
/* The tile of a corner, in the mosaic of the sample `key`, if there are 3. */
struct tile tensor_ops_tile(const struct tensor_ops *ops, const struct draw_key *key,
			    const struct output *output, unsigned corner);
/* Mix the partner's array and label of `classes` numbers into those of the sample `key`. */
void tensor_ops_mix(const struct tensor_ops *ops, const struct draw_key *key,
		    const struct output *output, void *array, const void *partner, float *label,
		    const float *partner_label, uint32_t classes);

void tensor_ops_scratch_deinit(struct tensor_ops_scratch *scratch);

#endif
