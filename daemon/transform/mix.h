/* SPDX-License-Identifier: MIT */
/*
 * MixUp and CutMix: two finished arrays and their labels made one, as torchvision's references do
 * it for a batch. Which two is not known here: both of a pair take the same draws, whichever is
 * made. Immutable once made; any thread.
 */
#ifndef STOKER_TRANSFORM_MIX_H
#define STOKER_TRANSFORM_MIX_H

#include "base/image.h"
#include "base/philox.h"
#include "transform/output.h"
#include "transform/transform.h"

struct mix {
	bool there; /* the list has one */
	bool cuts;  /* CutMix */
	double alpha;
	unsigned index; /* its place in the list */
};

/* How much of each, or where the other one is seen. */
struct mix_share {
	float own, other;
	struct rect box; /* of CutMix */
};

struct mix mix_make(const struct transform *transform, unsigned index);
/* `key` is the sample's: its pair are the positions 2 i and 2 i + 1. */
struct mix_share mix_draw(const struct mix *mix, const struct draw_key *key, int32_t width,
			  int32_t height);
/* Mix `other` into `array`; both are of a float type. */
void mix_arrays(const struct mix *mix, const struct mix_share *share, const struct output *output,
		void *array, const void *other);
void mix_labels(const struct mix_share *share, float *label, const float *other, uint32_t count);

#endif
