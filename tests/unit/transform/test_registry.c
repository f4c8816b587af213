// SPDX-License-Identifier: MIT
/*
 * The registry of transforms: every row is complete, and a row that lacks a function or has one too
 * many is found, before a worker can call it.
 */
#include <string.h>

#include "tests/unit/test.h"
#include "transform/registry.h"

static void test_every_row_is_complete(void **state)
{
	struct fault fault = {""};
	(void)state;
	transform_registry_check(&fault);
	assert_string_equal(fault.text, "");
}

/* Without any function. */
static struct transform_row emptied(const struct transform_row *row)
{
	struct transform_row empty = *row;
	empty.add = NULL;
	empty.draw = NULL;
	empty.holds = TRANSFORM_HOLDS_NOTHING;
	empty.to_tensor = false;
	empty.normalize = NULL;
	empty.generate = NULL;
	empty.change = NULL;
	empty.mix = NULL;
	empty.meet = NULL;
	return empty;
}

static void check_found(const struct transform_row *row, const char *words)
{
	struct fault fault = {""};
	assert_int_equal(transform_row_check(row, &fault), REGISTRY_E_ROW);
	if (!strstr(fault.text, words))
		assert_string_equal(fault.text, words);
}

static void test_a_missing_function_is_found(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TRANSFORM_ROWS; i++) {
		const struct transform_row row = emptied(transform_rows[i]);
		check_found(&row, row.name);
		check_found(&row, "exactly one of add, draw,");
	}
	struct transform_row choice = transform_random_choice;
	choice.choose = NULL;
	check_found(&choice, "choose must be set");
}

static int add(const struct transform *transform, struct steps *steps, struct fault *fault)
{
	(void)transform;
	(void)steps;
	(void)fault;
	return 0;
}

static void test_a_function_too_many_is_found(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TRANSFORM_ROWS; i++) {
		struct transform_row row = *transform_rows[i];
		if (row.add)
			row.to_tensor = true;
		else
			row.add = add;
		check_found(&row, "exactly one of add, draw,");
	}
	struct transform_row compose = transform_compose;
	compose.choose = transform_random_order.choose;
	check_found(&compose, "choose must be set");
}

static void test_facts_that_contradict_are_found(void **state)
{
	struct transform_row row = transform_random_invert;
	(void)state;
	row.fixes_size = true;
	check_found(&row, "a parameter that is a size");
	row = transform_random_invert;
	row.refuses_size = true;
	check_found(&row, "refuses_size goes with fixes_size");
	row = transform_random_invert;
	row.parameters[0].least = 2;
	check_found(&row, "range of a parameter is empty");
	row = transform_random_invert;
	row.parameters[0].type = PARAMETER_CHOICE;
	check_found(&row, "choices belong to");
	row = transform_random_invert;
	row.parameters[1] = transform_compose.parameters[0];
	check_found(&row, "are the first parameter");
	row = transform_random_crop;
	row.parameters[1].name = NULL;
	check_found(&row, "a parameter has no name");
	row = transform_mix_up;
	row.views = 2;
	check_found(&row, "go with add or draw");
	row = transform_random_erasing;
	row.fractions = true;
	check_found(&row, "fractions goes with");
	row = transform_pad;
	row.name = NULL;
	check_found(&row, "no name");
}

static void test_facts_that_derive(void **state)
{
	(void)state;
	assert_true(transform_row_random(&transform_random_solarize));
	assert_true(transform_row_random(&transform_random_order));
	assert_false(transform_row_random(&transform_compose));
	assert_false(transform_row_random(&transform_pad));
	assert_false(transform_row_random(&transform_normalize));
	assert_true(transform_row_blocks_annotations(&transform_image_data_generator));
	assert_true(transform_row_blocks_annotations(&transform_cut_mix));
	assert_false(transform_row_blocks_annotations(&transform_random_erasing));
	assert_false(transform_row_blocks_annotations(&transform_random_affine));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_is_complete),
		cmocka_unit_test(test_a_missing_function_is_found),
		cmocka_unit_test(test_a_function_too_many_is_found),
		cmocka_unit_test(test_facts_that_contradict_are_found),
		cmocka_unit_test(test_facts_that_derive),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
