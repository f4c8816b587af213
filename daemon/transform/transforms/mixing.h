/* SPDX-License-Identifier: MIT */
/*
 * Shares of a sample and of its mix partner, for MixUp and CutMix. The partner is the other sample
 * of a pair, positions 2i and 2i + 1. Both have the pair's draws, so whichever is made, the pair is
 * mixed by the same numbers. Any thread.
 */
#ifndef STOKER_TRANSFORM_TRANSFORMS_MIXING_H
#define STOKER_TRANSFORM_TRANSFORMS_MIXING_H

#include "transform/draws.h"

/* The parts of a sample and of its partner; their sum is 1. */
struct mix_share {
	float own, partner;
};

static inline struct mix_share mix_share_of(double lambda)
{
	return (struct mix_share){(float)lambda, (float)(1.0 - lambda)};
}

/* In float32, each product rounded, and their sum. */
static inline float mix_number(const struct mix_share *share, float own, float partner)
{
	float a = own * share->own, b = partner * share->partner;
	return a + b;
}

/* Lambda of Beta(alpha, alpha). */
double mix_lambda(const struct draws *draws, double alpha);

#endif
