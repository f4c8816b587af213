// SPDX-License-Identifier: MIT
/* Instance masks: the pixels of pycocotools, and hostile ones are refused before they are drawn. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"
#include "tests/unit/transform/instances_golden.h"
#include "transform/instances/instance_mask.h"

#define EDGE 48

static void test_polygons_are_those_of_pycocotools(void **state)
{
	struct buffer scratch = {0};
	struct fault fault;
	(void)state;
	for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
		uint8_t drawn[EDGE * EDGE] = {0}, unpacked[EDGE * EDGE] = {0};
		struct instance_map map = {drawn, golden[i].width, golden[i].height, 0};
		assert_int_equal(
			polygon_draw(&map, golden[i].points, golden[i].count, 7, &scratch, &fault),
			0);
		map.pixels = unpacked;
		assert_int_equal(
			runs_draw_text(&map, golden[i].runs, strlen(golden[i].runs), 7, &fault), 0);
		assert_memory_equal(drawn, unpacked, sizeof(drawn));
	}
	buffer_deinit(&scratch);
}

/* Down the columns: 2 zeros, 3 ones, a zero, in 2 columns of 3. */
static void test_runs_go_down_the_columns(void **state)
{
	static const uint32_t counts[] = {2, 3, 1};
	static const uint8_t expected[] = {0, 9, 0, 9, 9, 0};
	uint8_t pixels[6] = {0};
	const struct instance_map map = {pixels, 2, 3, 0};
	struct fault fault;
	(void)state;
	assert_int_equal(runs_draw(&map, counts, 3, 9, &fault), 0);
	assert_memory_equal(pixels, expected, sizeof(pixels));
	memset(pixels, 0, sizeof(pixels));
	assert_int_equal(runs_draw_text(&map, "231", 3, 9, &fault), 0);
	assert_memory_equal(pixels, expected, sizeof(pixels));
}

static void check_text(const char *text, const char *words)
{
	uint8_t pixels[20] = {0}, none[20] = {0};
	const struct instance_map map = {pixels, 5, 4, 0};
	struct fault fault = {""};
	assert_int_equal(runs_draw_text(&map, text, strlen(text), 1, &fault), INSTANCE_E_BAD);
	if (!strstr(fault.text, words))
		assert_string_equal(fault.text, words);
	assert_memory_equal(pixels, none, sizeof(pixels));
}

static void test_packed_runs_that_lie_are_refused(void **state)
{
	(void)state;
	check_text("", "have 0 pixels, and the picture has 20");
	check_text("0", "have 0 pixels");
	check_text("2", "have 2 pixels");
	check_text("o", "end within a number at byte 1");
	check_text("PPPPPPPPPPPPP", "too large at byte 7");
	check_text("1/", "byte 1 of the packed run lengths is 0x2f");
	check_text("\xff", "is 0xff");
	check_text("O", "run 0 has the length -1");
	check_text("23o0", "run 2 of a mask goes beyond its 20 pixels");
	check_text("oooooo3", "run 0 of a mask goes beyond its 20 pixels");
}

static void test_counts_that_lie_are_refused(void **state)
{
	static const uint32_t beyond[] = {4, UINT32_MAX, UINT32_MAX, 17}, few[] = {19};
	uint8_t pixels[20] = {0};
	const struct instance_map map = {pixels, 5, 4, 0};
	struct fault fault;
	(void)state;
	assert_int_equal(runs_draw(&map, beyond, 4, 1, &fault), INSTANCE_E_BAD);
	assert_string_equal(fault.text, "run 1 of a mask goes beyond its 20 pixels: correct it");
	assert_int_equal(runs_draw(&map, few, 1, 1, &fault), INSTANCE_E_BAD);
	assert_string_equal(fault.text,
			    "the runs of a mask have 19 pixels, and the picture has 20: "
			    "they must be as many");
}

static void check_polygon(const double *points, size_t count, const char *words)
{
	uint8_t pixels[20] = {0}, none[20] = {0};
	struct instance_map map = {pixels, 5, 4, 0};
	struct buffer scratch = {0};
	struct fault fault = {""};
	assert_int_equal(polygon_draw(&map, points, count, 1, &scratch, &fault), INSTANCE_E_BAD);
	if (!strstr(fault.text, words))
		assert_string_equal(fault.text, words);
	assert_memory_equal(pixels, none, sizeof(pixels));
	buffer_deinit(&scratch);
}

static void test_hostile_polygons_are_refused(void **state)
{
	const double line[] = {0, 0, 3, 3}, nowhere[] = {0, 0, 1, 1, NAN, 2};
	const double far[] = {0, 0, 1, 1, 1e300, 2}, below[] = {0, 0, 1, 1, -INFINITY, 2};
	const size_t many = 1000000;
	double *points = calloc(2 * many, sizeof(*points));
	(void)state;
	assert_non_null(points);
	check_polygon(line, 2, "has 3 to 65536 points, and this one 2");
	check_polygon(points, many, "has 3 to 65536 points, and this one 1000000");
	check_polygon(nowhere, 3, "point 2 of the polygon is nan");
	check_polygon(far, 3, "point 2 of the polygon is 1e+300");
	check_polygon(below, 3, "point 2 of the polygon is -inf");
	for (size_t i = 0; i < 65536; i += 2)
		points[2 * i] = POLYGON_EDGE_MAX;
	check_polygon(points, 65536, "the limit is 13421772");
	free(points);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_polygons_are_those_of_pycocotools),
		cmocka_unit_test(test_runs_go_down_the_columns),
		cmocka_unit_test(test_packed_runs_that_lie_are_refused),
		cmocka_unit_test(test_counts_that_lie_are_refused),
		cmocka_unit_test(test_hostile_polygons_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
