/* SPDX-License-Identifier: MIT */
/*
 * Moments: sums over many samples of bytes, all of one length: of each number, of its square, and
 * of the products of each two of them. All are whole numbers and exact, so that it makes no
 * difference who adds what first. Any thread may add; one asks once all have.
 *
 * Products are made of blocks of samples, by whoever completes a block.
 */
#ifndef STOKER_STATISTICS_MOMENTS_H
#define STOKER_STATISTICS_MOMENTS_H

#include <stdbool.h>
#include <stdint.h>

#define MOMENTS_PRODUCTS_MAX 3072 /* numbers of a sample whose products can be had: 32 x 32 x 3 */

struct moments;

enum moments_of {
	MOMENTS_OF_CHANNELS, /* a sample's numbers, three in turn, are all of three */
	MOMENTS_OF_NUMBERS,
	MOMENTS_OF_PRODUCTS, /* ... and of products, too */
};

/* `length`: numbers of a sample, a multiple of 3. 0 or -ENOMEM. */
int moments_new(struct moments **out, uint32_t length, enum moments_of of);
void moments_free(struct moments *moments);
uint64_t moments_bytes(uint32_t length, enum moments_of of); /* that it will take */

int moments_add(struct moments *moments, const uint8_t *numbers); /* 0 or -ENOMEM */

/* Once nobody adds any more. */
int moments_end(struct moments *moments); /* 0 or -ENOMEM */
uint64_t moments_samples(const struct moments *moments);
/* 3 of channels, else one for each number. */
const uint64_t *moments_sums(const struct moments *moments);
const uint64_t *moments_squares(const struct moments *moments);
/* length x length, of which [i * length + j] is there for j <= i. To be written over. */
int64_t *moments_products(struct moments *moments);

#endif
