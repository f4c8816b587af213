// SPDX-License-Identifier: MIT
/*
 * The tables of a resize: what resample.c relies on, for every small pair of sizes and some large
 * ones. test_pipeline_pillow.py compares their result with Pillow's.
 */
#include "tests/unit/test.h"
#include "transform/axis.h"

static const int32_t one = 1 << AXIS_PRECISION;

/* All outputs read inside of the source, their weights add up to 1, and the sums of the positive
 * and of the negative ones stay in the range that half a pair of sums has. */
static void check_axis(enum filter filter, int32_t in, int32_t out, struct span window)
{
	static struct axis axis;
	assert_int_equal(axis_build(&axis, filter, in, (struct span){0, in}, out, window), 0);
	assert_int_equal(axis.count, window.count);
	assert_true(axis.source.first >= 0 && axis.source.count > 0);
	assert_true(axis.source.first + axis.source.count <= in);
	for (int32_t i = 0; i < axis.count; i++) {
		const int32_t *weights = axis.weights + (size_t)i * (size_t)axis.stride;
		struct span span = axis.spans[i];
		int64_t above = 0, below = 0;
		assert_int_equal(span.count, axis.widest);
		assert_true(span.first >= axis.source.first);
		assert_true(span.first + span.count <= axis.source.first + axis.source.count);
		for (int32_t n = 0; n < span.count; n++)
			*(weights[n] < 0 ? &below : &above) += weights[n];
		assert_true(above + below > one - span.count && above + below < one + span.count);
		assert_true(below > -one && above < 3 * (int64_t)one);
	}
	axis_deinit(&axis);
}

static void test_small_sizes(void **state)
{
	(void)state;
	for (enum filter filter = FILTER_BOX; filter <= FILTER_LANCZOS; filter++) {
		for (int32_t in = 1; in <= 24; in++) {
			for (int32_t out = 1; out <= 60; out++)
				check_axis(filter, in, out, (struct span){0, out});
		}
	}
}

static void test_large_sizes(void **state)
{
	static const int32_t sizes[] = {1, 2, 3, 223, 224, 16383, 65500, 1 << 24};
	(void)state;
	for (enum filter filter = FILTER_BOX; filter <= FILTER_LANCZOS; filter++) {
		for (int i = 0; i < 7; i++) {
			for (int n = 0; n < 8; n++) {
				check_axis(filter, sizes[i], sizes[n], (struct span){0, 1});
				check_axis(filter, sizes[i], sizes[n],
					   (struct span){sizes[n] - 1, 1});
			}
		}
	}
}

/* An output's weights do not depend on the window. */
static void test_windows_agree(void **state)
{
	struct axis whole = AXIS_NULL, part = AXIS_NULL;
	(void)state;
	assert_int_equal(axis_build(&whole, FILTER_BICUBIC, 100, (struct span){0, 100}, 37,
				    (struct span){0, 37}),
			 0);
	assert_int_equal(axis_build(&part, FILTER_BICUBIC, 100, (struct span){0, 100}, 37,
				    (struct span){12, 5}),
			 0);
	for (int32_t i = 0; i < 5; i++) {
		for (int32_t at = 0; at < 100; at++) {
			int32_t first = at - whole.spans[12 + i].first;
			int32_t second = at - part.spans[i].first;
			int32_t want = first >= 0 && first < whole.widest
					       ? whole.weights[(12 + i) * whole.stride + first]
					       : 0;
			int32_t got = second >= 0 && second < part.widest
					      ? part.weights[i * part.stride + second]
					      : 0;
			assert_int_equal(want, got);
		}
	}
	axis_deinit(&whole);
	axis_deinit(&part);
}

static void test_unreasonable_tables_are_refused(void **state)
{
	struct axis axis = AXIS_NULL;
	(void)state;
	assert_int_equal(axis_build(&axis, FILTER_LANCZOS, 1 << 24, (struct span){0, 1 << 24}, 1,
				    (struct span){0, 1}),
			 AXIS_E_SIZE);
	assert_int_equal(axis_build(&axis, FILTER_BOX, 1, (struct span){0, 1}, 1 << 24,
				    (struct span){0, 1 << 24}),
			 0);
	assert_int_equal(axis_build(&axis, FILTER_LANCZOS, 1, (struct span){0, 1}, 1 << 24,
				    (struct span){0, 1 << 24}),
			 AXIS_E_SIZE);
	axis_deinit(&axis);
	axis_deinit(&axis);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_sizes),
		cmocka_unit_test(test_large_sizes),
		cmocka_unit_test(test_windows_agree),
		cmocka_unit_test(test_unreasonable_tables_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
