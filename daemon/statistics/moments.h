/* SPDX-License-Identifier: MIT */
/*
 * Moments: for samples that are byte arrays of one length, the sum of each number, of its square
 * and of the product of each two numbers, over all samples. The sums are exact integers, so the
 * order of adding makes no difference. Any thread adds; when all are done, one thread reads.
 *
 * Products are computed for a block of samples at a time, by the thread that completes the block.
 */
#ifndef STOKER_STATISTICS_MOMENTS_H
#define STOKER_STATISTICS_MOMENTS_H

#include <stdbool.h>
#include <stdint.h>

#define MOMENTS_PRODUCTS_MAX 3072 /* numbers of a sample, for products: 32 x 32 x 3 */

struct moments;

enum moments_of {
	MOMENTS_OF_CHANNELS, /* three sums: every third number of a sample belongs to one channel */
	MOMENTS_OF_NUMBERS,  /* a sum for each number */
	MOMENTS_OF_PRODUCTS, /* the same, and the sums of the products */
};

/* `length`: numbers of a sample, a multiple of 3. 0 or -ENOMEM. */
int moments_new(struct moments **out, uint32_t length, enum moments_of of);
void moments_free(struct moments *moments);
uint64_t moments_bytes(uint32_t length, enum moments_of of); /* memory that it takes */

int moments_add(struct moments *moments, const uint8_t *numbers); /* 0 or -ENOMEM */

/* End the sums, once nobody adds any more; then read the results. */
int moments_end(struct moments *moments); /* 0 or -ENOMEM */
uint64_t moments_samples(const struct moments *moments);
/* Three for MOMENTS_OF_CHANNELS, else one for each number. */
const uint64_t *moments_sums(const struct moments *moments);
const uint64_t *moments_squares(const struct moments *moments);
/* length x length, of which only [i * length + j] with j <= i are set. The caller may overwrite it.
 */
int64_t *moments_products(struct moments *moments);

#endif
