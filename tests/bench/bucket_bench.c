// SPDX-License-Identifier: MIT
/*
 * What the order of buckets costs:
 *	bucket_bench [SAMPLES [BUCKETS [RUN]]]
 * Of so many samples (10,000,000) in so many uneven buckets (40): the time to choose the buckets of
 * so many sizes, to make the order of them, its bytes, and the time of a position, by one thread:
 * the sample that stands there, and the end of its run. All in CPU time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "sampler/bucket.h"
#include "sampler/bucket_order.h"

#define LOOKS 2000000

static uint8_t *make_buckets(uint64_t samples, uint32_t buckets)
{
	uint8_t *bucket = malloc(samples);
	for (uint64_t i = 0; bucket && i < samples; i++) {
		uint64_t x = (i * 0x9E3779B97F4A7C15u) >> 40;
		bucket[i] = (uint8_t)(x % buckets * (x / buckets % buckets) / buckets);
	}
	return bucket;
}

/* The nearest of so many sizes, of pictures of up to 4 megapixels. */
static void choose(uint64_t samples, uint32_t buckets)
{
	struct image_size sizes[UINT8_MAX];
	uint64_t begun = clock_thread_ns(), sum = 0;
	for (uint32_t i = 0; i < buckets && i < UINT8_MAX; i++)
		sizes[i] = (struct image_size){64 * ((int32_t)i + 1), 4096 / ((int32_t)i + 1)};
	for (uint64_t i = 0; i < samples; i++) {
		uint64_t x = (i * 0x9E3779B97F4A7C15u) >> 40;
		const struct image_size size = {1 + (int32_t)(x % 2048),
						1 + (int32_t)(x / 2048 % 2048)};
		sum += bucket_nearest(sizes, buckets, size);
	}
	printf("chosen in %.2f s (%llu)\n", (double)(clock_thread_ns() - begun) * 1e-9,
	       (unsigned long long)sum % 10);
}

static double per_look_ns(uint64_t begun)
{
	return (double)(clock_thread_ns() - begun) / LOOKS;
}

int main(int argc, char **argv)
{
	uint64_t samples = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	uint32_t buckets = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 40;
	uint64_t run = argc > 3 ? strtoull(argv[3], NULL, 10) : 256, sum = 0;
	uint8_t *bucket = make_buckets(samples, buckets);
	const struct bucket_order_spec spec = {.run = run,
					       .shuffle = true,
					       .seed = 1,
					       .buckets = buckets,
					       .bucket = bucket,
					       .count = samples};
	struct bucket_order *order;
	choose(samples, buckets);
	uint64_t begun = clock_thread_ns();
	if (!bucket || bucket_order_new(&order, &spec) < 0)
		return 1;
	printf("made in %.2f s, %.1f MB\n", (double)(clock_thread_ns() - begun) * 1e-9,
	       (double)bucket_order_bytes(order) * 1e-6);
	uint64_t positions = bucket_order_positions(order);
	begun = clock_thread_ns();
	for (uint64_t i = 0; i < LOOKS; i++)
		sum += bucket_order_entry(order, 3, i * 7919 % positions);
	printf("sample: %.0f ns\n", per_look_ns(begun));
	begun = clock_thread_ns();
	for (uint64_t i = 0; i < LOOKS; i++)
		sum += bucket_order_run(order, 3, i * 7919 % positions).samples;
	printf("run: %.0f ns\n(%llu)\n", per_look_ns(begun), (unsigned long long)sum % 10);
	bucket_order_free(order);
	free(bucket);
	return 0;
}
