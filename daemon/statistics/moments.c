// SPDX-License-Identifier: MIT
#include "statistics/moments.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"

#define BLOCK 256 /* samples: their products' sums fit into 32 bits */
#define TILE 32	  /* of the products, TILE x TILE are added under one lock */

struct moments {
	uint32_t length, terms; /* of `sums` and `squares` */
	bool multiplies;
	enum cpu cpu;

	pthread_mutex_t lock; /* of all below */
	uint64_t samples;
	uint64_t *sums, *squares;
	int64_t *products;
	uint8_t *block; /* room for BLOCK samples; NULL: the next sample allocates it */
	unsigned count; /* samples in it */
};

uint64_t moments_bytes(uint32_t length, enum moments_of of)
{
	uint64_t sums = 2 * sizeof(uint64_t) * (of == MOMENTS_OF_CHANNELS ? 3 : length);
	return of == MOMENTS_OF_PRODUCTS ? sums + sizeof(int64_t) * length * length : sums;
}

int moments_new(struct moments **out, uint32_t length, enum moments_of of)
{
	struct moments *moments = calloc(1, sizeof(*moments));
	if (!moments)
		return -ENOMEM;
	pthread_mutex_init(&moments->lock, NULL); /* cannot fail on Linux */
	moments->length = length;
	moments->terms = of == MOMENTS_OF_CHANNELS ? 3 : length;
	moments->multiplies = of == MOMENTS_OF_PRODUCTS;
	moments->cpu = cpu_best();
	moments->sums = calloc(moments->terms, sizeof(*moments->sums));
	moments->squares = calloc(moments->terms, sizeof(*moments->squares));
	if (moments->multiplies)
		moments->products = calloc((size_t)length * length, sizeof(*moments->products));
	if (!moments->sums || !moments->squares || (moments->multiplies && !moments->products)) {
		moments_free(moments);
		return -ENOMEM;
	}
	*out = moments;
	return 0;
}

void moments_free(struct moments *moments)
{
	if (!moments)
		return;
	pthread_mutex_destroy(&moments->lock);
	free(moments->sums);
	free(moments->squares);
	free(moments->products);
	free(moments->block);
	free(moments);
}

/* -- products ----------------------------------------------------------------------------- */

#define INLINE static inline __attribute__((always_inline))

/* The products of rows [i, i + TILE) and [j, j + TILE); each row has BLOCK numbers. */
INLINE void multiply(const int16_t *rows, uint32_t i, uint32_t j, uint32_t length,
		     int32_t tile[TILE][TILE])
{
	for (uint32_t a = 0; a < TILE && i + a < length; a++) {
		const int16_t *first = rows + (size_t)(i + a) * BLOCK;
		for (uint32_t b = 0; b < TILE && j + b < length; b++) {
			const int16_t *second = rows + (size_t)(j + b) * BLOCK;
			int32_t sum = 0;
			for (unsigned k = 0; k < BLOCK; k++)
				sum += first[k] * second[k];
			tile[a][b] = sum;
		}
	}
}

/* Integers: all instruction sets give the same result. */
static void multiply_plain(const int16_t *rows, uint32_t i, uint32_t j, uint32_t length,
			   int32_t tile[TILE][TILE])
{
	multiply(rows, i, j, length, tile);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void multiply_avx2(const int16_t *rows, uint32_t i,
							  uint32_t j, uint32_t length,
							  int32_t tile[TILE][TILE])
{
	multiply(rows, i, j, length, tile);
}
#else
#define multiply_avx2 multiply_plain
#endif

static void add_tile(struct moments *moments, uint32_t i, uint32_t j, int32_t tile[TILE][TILE])
{
	const uint32_t length = moments->length;
	pthread_mutex_lock(&moments->lock);
	for (uint32_t a = 0; a < TILE && i + a < length; a++) {
		int64_t *to = moments->products + (size_t)(i + a) * length + j;
		for (uint32_t b = 0; b < TILE && j + b < length; b++)
			to[b] += tile[a][b];
	}
	pthread_mutex_unlock(&moments->lock);
}

/* Transpose: a row holds one number of all samples, padded with zeros to BLOCK. NULL: no memory. */
static int16_t *transpose_block(const uint8_t *block, unsigned count, uint32_t length)
{
	int16_t *rows = calloc((size_t)length * BLOCK, sizeof(*rows));
	for (unsigned k = 0; rows && k < count; k++)
		for (uint32_t i = 0; i < length; i++)
			rows[(size_t)i * BLOCK + k] = block[(size_t)k * length + i];
	return rows;
}

static int add_block(struct moments *moments, const uint8_t *block, unsigned count)
{
	const uint32_t length = moments->length;
	int32_t tile[TILE][TILE];
	int16_t *rows = transpose_block(block, count, length);
	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < length; i += TILE) {
		for (uint32_t j = 0; j <= i; j += TILE) {
			if (moments->cpu == CPU_PLAIN)
				multiply_plain(rows, i, j, length, tile);
			else
				multiply_avx2(rows, i, j, length, tile);
			add_tile(moments, i, j, tile);
		}
	}
	free(rows);
	return 0;
}

/* With the lock held. A full block becomes the caller's. */
static int keep_sample(struct moments *moments, const uint8_t *numbers, uint8_t **full_out)
{
	const uint32_t length = moments->length;
	if (!moments->block)
		moments->block = malloc((size_t)BLOCK * length);
	if (!moments->block)
		return -ENOMEM;
	memcpy(moments->block + (size_t)moments->count * length, numbers, length);
	if (++moments->count < BLOCK)
		return 0;
	*full_out = moments->block;
	moments->block = NULL;
	moments->count = 0;
	return 0;
}

/* -- sums --------------------------------------------------------------------------------- */

static void add_channels(struct moments *moments, const uint8_t *numbers)
{
	uint64_t sums[3] = {0}, squares[3] = {0};
	for (uint32_t i = 0; i < moments->length; i += 3) {
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t x = numbers[i + k];
			sums[k] += x;
			squares[k] += x * x;
		}
	}
	pthread_mutex_lock(&moments->lock);
	for (uint32_t k = 0; k < 3; k++) {
		moments->sums[k] += sums[k];
		moments->squares[k] += squares[k];
	}
	moments->samples++;
	pthread_mutex_unlock(&moments->lock);
}

static int add_numbers(struct moments *moments, const uint8_t *numbers, uint8_t **full_out)
{
	int r = 0;
	pthread_mutex_lock(&moments->lock);
	for (uint32_t i = 0; i < moments->length; i++) {
		uint32_t x = numbers[i];
		moments->sums[i] += x;
		moments->squares[i] += x * x;
	}
	moments->samples++;
	if (moments->multiplies)
		r = keep_sample(moments, numbers, full_out);
	pthread_mutex_unlock(&moments->lock);
	return r;
}

int moments_add(struct moments *moments, const uint8_t *numbers)
{
	uint8_t *full = NULL;
	if (moments->terms == 3 && !moments->multiplies) {
		add_channels(moments, numbers);
		return 0;
	}
	int r = add_numbers(moments, numbers, &full);
	if (r == 0 && full)
		r = add_block(moments, full, BLOCK);
	free(full);
	return r;
}

int moments_end(struct moments *moments)
{
	int r = 0;
	if (moments->count)
		r = add_block(moments, moments->block, moments->count);
	free(moments->block);
	moments->block = NULL;
	moments->count = 0;
	return r;
}

uint64_t moments_samples(const struct moments *moments)
{
	return moments->samples;
}

const uint64_t *moments_sums(const struct moments *moments)
{
	return moments->sums;
}

const uint64_t *moments_squares(const struct moments *moments)
{
	return moments->squares;
}

int64_t *moments_products(struct moments *moments)
{
	return moments->products;
}
