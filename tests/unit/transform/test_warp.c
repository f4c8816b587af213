// SPDX-License-Identifier: MIT
/*
 * Each instruction set warps to the same bytes as plain C: any numbers, sizes, and order of columns
 * and rows. test_warp_pillow.py compares with Pillow.
 *	test_warp [CASES]	of each instruction set; default 1,000
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"
#include "transform/warp.h"

#define SIDE 60
#define CANARY 0x5a

static unsigned cases = 1000;
static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint32_t random_below(uint32_t end)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 32) % end);
}

static double random_between(double low, double high)
{
	return low + (high - low) * (random_below(1u << 30) / (double)(1u << 30));
}

static int32_t random_side(void)
{
	return 1 + (int32_t)random_below(random_below(4) ? SIDE : 4);
}

/* Near to a turn and shift, or nearly none of its pixels inside. */
static struct warp random_warp(void)
{
	struct warp warp = {.kind = (enum warp_kind)random_below(2),
			    .filter = random_below(2) ? FILTER_BILINEAR : FILTER_BICUBIC,
			    .size = {random_side(), random_side()}};
	for (int i = 0; i < 6; i++)
		warp.a[i] = random_between(-1.5, 1.5);
	warp.a[2] = random_between(-0.5, 1) * SIDE;
	warp.a[5] = random_between(-0.5, 1) * SIDE;
	for (int i = 0; i < 6 && random_below(4) == 0; i++)
		warp.a[i] = (int)warp.a[i] * 0.5;
	if (warp.kind == WARP_PERSPECTIVE)
		for (int i = 6; i < 8; i++)
			warp.a[i] = random_between(-0.5, 1) / SIDE;
	for (int i = 0; i < 3; i++)
		warp.fill[i] = (uint8_t)random_below(256);
	return warp;
}

struct wanted {
	int32_t count, at[2 * SIDE];
};

static struct wanted random_wanted(int32_t size)
{
	struct wanted wanted = {.count = size};
	bool any = random_below(2);
	if (any)
		wanted.count = 1 + (int32_t)random_below(2 * SIDE);
	for (int32_t i = 0; i < wanted.count; i++)
		wanted.at[i] = any ? (int32_t)random_below((uint32_t)size) : i;
	return wanted;
}

struct sink {
	uint8_t *pixels;
	size_t stride;
};

static bool sink_put(void *context, int32_t y, uint8_t *row)
{
	const struct sink *sink = context;
	memcpy(sink->pixels + (size_t)y * sink->stride, row, sink->stride);
	return true;
}

/* In a block of exactly the bytes that may be read, for the sanitizers. */
static struct image random_image(void)
{
	int32_t width = random_side(), height = random_side();
	size_t size = 3 * (size_t)width * (size_t)height + BUFFER_SLACK;
	bool extreme = random_below(2);
	uint8_t *pixels = malloc(size);
	assert_non_null(pixels);
	for (size_t i = 0; i < size; i++)
		pixels[i] = (uint8_t)(extreme ? random_below(2) * 255 : random_below(256));
	return (struct image){pixels, 3 * (size_t)width, width, height, {0, 0, width, height}};
}

static void check(enum cpu cpu, struct buffer *scratch)
{
	static uint8_t want[12 * SIDE * SIDE], got[12 * SIDE * SIDE];
	const struct image image = random_image();
	const struct warp warp = random_warp();
	const struct wanted x = random_wanted(warp.size[0]), y = random_wanted(warp.size[1]);
	struct sink sink = {want, 3 * (size_t)x.count};
	memset(want, CANARY, sizeof(want));
	memset(got, CANARY, sizeof(got));
	assert_int_equal(warp_run(&warp, &image, x.at, x.count, y.at, y.count, CPU_PLAIN, scratch,
				  sink_put, &sink),
			 0);
	sink.pixels = got;
	assert_int_equal(warp_run(&warp, &image, x.at, x.count, y.at, y.count, cpu, scratch,
				  sink_put, &sink),
			 0);
	assert_memory_equal(got, want, sizeof(want));
	free((void *)(uintptr_t)image.pixels);
}

static void test_instruction_sets_agree(void **state)
{
	(void)state;
	for (enum cpu cpu = CPU_PLAIN + 1; cpu <= cpu_best(); cpu++) {
		struct buffer scratch = BUFFER_NULL;
		for (unsigned i = 0; i < cases; i++)
			check(cpu, &scratch);
		buffer_deinit(&scratch);
		print_message("%u warps with %s\n", cases, cpu_name(cpu));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instruction_sets_agree),
	};
	if (argc > 1)
		cases = (unsigned)strtoul(argv[1], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
