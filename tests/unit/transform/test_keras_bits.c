// SPDX-License-Identifier: MIT
/*
 * What works on arrays, for the sanitizers: buffers of exactly the size that is needed, any matrix,
 * and the same bits from each instruction set. test_keras.py compares the numbers themselves.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "tests/unit/list.h"
#include "tests/unit/test.h"
#include "transform/draws.h"
#include "transform/keras/keras.h"
#include "transform/output.h"
#include "transform/registry.h"

#define CASES 2000

static struct draw_key key = {.seed = 5};
static uint32_t drawn;

static double uniform(double low, double high)
{
	return low + (high - low) * draw_uniform(&key, drawn++);
}

static int32_t below(int32_t bound)
{
	return (int32_t)draw_below(&key, drawn++, (uint64_t)bound);
}

static int32_t random_edge(void)
{
	return below(8) == 0 ? 1 : 1 + below(40);
}

/* A picture, with the readable bytes behind it. */
static struct image random_image(void)
{
	int32_t width = random_edge(), height = random_edge();
	size_t size = 3 * (size_t)width * (size_t)height + BUFFER_SLACK;
	uint8_t *pixels = malloc(size);
	assert_non_null(pixels);
	for (size_t i = 0; i < size; i++)
		pixels[i] = (uint8_t)below(256);
	return (struct image){pixels, 3 * (size_t)width, width, height, {0, 0, width, height}};
}

/* Nothing, a shift, a shift of whole pixels, anything. */
static struct keras_warp random_warp(const struct image *image)
{
	struct keras_warp warp = {
		.m = {{1, 0, 0}, {0, 1, 0}},
		.flip = {below(2), below(2)},
		.fill = (enum keras_fill)below(4),
		.cval = (float)uniform(-20, 300),
	};
	int32_t kind = below(5);
	if (kind > 0) {
		warp.m[0][2] = uniform(-2, 2) * image->height;
		warp.m[1][2] = uniform(-2, 2) * image->width;
	}
	if (kind == 2) {
		warp.m[0][2] = floor(warp.m[0][2]);
		warp.m[1][2] = floor(warp.m[1][2]);
	}
	if (kind > 2) {
		double by = kind == 3 ? 0.5 : 30;
		for (int i = 0; i < 4; i++)
			warp.m[i / 2][i % 2] += uniform(-by, by);
	}
	return warp;
}

static void test_every_set_gives_the_same_bits(void **state)
{
	struct buffer scratch = BUFFER_NULL;
	(void)state;
	for (int n = 0; n < CASES; n++) {
		struct image image = random_image();
		struct keras_warp warp = random_warp(&image);
		size_t count = 3 * (size_t)image.width * (size_t)image.height;
		float *plain = calloc(count, sizeof(float)), *best = malloc(count * sizeof(float));
		assert_true(plain && best);
		assert_int_equal(keras_warp_run(&warp, &image, CPU_PLAIN, &scratch, plain), 0);
		assert_int_equal(keras_warp_run(&warp, &image, cpu_best(), &scratch, best), 0);
		assert_memory_equal(plain, best, count * sizeof(float));
		free(plain);
		free(best);
		free((void *)(uintptr_t)image.pixels);
	}
	buffer_deinit(&scratch);
}

static void test_all_numbers_are_finite(void **state)
{
	const struct keras keras = {
		.brightens = true,
		.channel_shift = 50,
		.rescale = 1.0f / 255.0f,
		.samplewise_center = true,
		.samplewise_std = true,
		.featurewise_center = true,
		.featurewise_std = true,
		.fill = KERAS_FILL_CONSTANT,
		.cval = -300,
	};
	struct buffer scratch = BUFFER_NULL;
	(void)state;
	for (int n = 0; n < CASES / 4; n++) {
		struct image image = random_image();
		struct keras_draw draw = {.theta = uniform(-90, 90), .zx = uniform(0, 2), .zy = 0};
		draw.channel_shift = uniform(-50, 50);
		draw.brightness = uniform(-1, 3);
		size_t count = 3 * (size_t)image.width * (size_t)image.height;
		float *numbers = malloc(count * sizeof(float));
		assert_non_null(numbers);
		assert_int_equal(keras_run(&keras, &draw, &image, cpu_best(), &scratch, numbers),
				 0);
		for (size_t i = 0; i < count; i++)
			assert_true(isfinite(numbers[i]));
		free(numbers);
		free((void *)(uintptr_t)image.pixels);
	}
	buffer_deinit(&scratch);
}

/* RandomErasing of a large box. */
static struct transform erasing(bool random)
{
	const struct value boxes[] = {
		NAMED("RandomErasing", KEY("p", UINT(1)), KEY("scale", LIST(UINT(0), UINT(1))),
		      KEY("ratio", LIST(REAL(0.01), UINT(100))),
		      KEY("value", LIST(UINT(3), UINT(200), UINT(9)))),
		NAMED("RandomErasing", KEY("p", UINT(1)), KEY("scale", LIST(UINT(0), UINT(1))),
		      KEY("ratio", LIST(REAL(0.01), UINT(100))), KEY("value", TEXT("random"))),
	};
	struct transform transform;
	struct fault fault = {""};
	transform_parse(&transform, &boxes[random], &fault);
	assert_string_equal(fault.text, "");
	return transform;
}

static void test_a_box_is_in_its_array(void **state)
{
	const struct transform kinds[] = {erasing(false), erasing(true)};
	(void)state;
	for (int n = 0; n < CASES; n++) {
		struct output output = {.type = (enum output_type)below(4),
					.planes = below(2),
					.width = random_edge(),
					.height = random_edge()};
		const struct transform *transform = &kinds[output.type != OUTPUT_UINT8 && below(2)];
		const struct draws draws = draws_of(&key, (unsigned)below(60));
		void *array = malloc(output_bytes(output.type, output.width, output.height));
		assert_non_null(array);
		key.position++;
		transform->row->change(transform, &draws, &output, array);
		free(array);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_set_gives_the_same_bits),
		cmocka_unit_test(test_all_numbers_are_finite),
		cmocka_unit_test(test_a_box_is_in_its_array),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
