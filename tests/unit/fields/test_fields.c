// SPDX-License-Identifier: MIT
/* Which fields a stream has: those that were chosen, their shapes, and what is refused. */
#include "tests/unit/work/fixture.h"

#include <string.h>

#include "fields/fields.h"
#include "tests/unit/values.h"

/* A list of pictures with a column of numbers and one of masks. */
static void open_list(struct work *work)
{
	static const char list[] =
		"{\"path\": \"a/0.ppm\", \"label\": 1, \"weight\": 1.5, \"mask\": \"m\"}\n"
		"{\"path\": \"a/0.ppm\", \"label\": 2, \"weight\": 2.5, \"mask\": \"m\"}\n";
	work_put(work, "list.jsonl", list, sizeof(list) - 1);
	work_open(work, "photos/a/list.jsonl");
}

static struct fields fields_of(const struct work *work, const struct field_choice *choice)
{
	struct fields fields;
	struct fault fault;
	if (fields_init(&fields, work->dataset, work->recipe.pipeline, choice, &fault))
		fail_msg("%s", fault.text);
	return fields;
}

static void assert_shape(const struct field *field, const char *name, const char *dtype,
			 uint32_t dims, const uint32_t *shape, size_t bytes)
{
	assert_string_equal(field->name, name);
	assert_string_equal(field->dtype, dtype);
	assert_int_equal(field->dims, dims);
	assert_memory_equal(field->shape, shape, dims * sizeof(*shape));
	assert_int_equal(field->bytes, bytes);
}

static void test_a_choice_is_a_list_of_names(void **state)
{
	(void)state;
	const struct value nothing = NIL, none = LIST_OF(NULL, 0), number = UINT(7);
	const struct value names = LIST(TEXT("mask"), TEXT("boxes"));
	const struct value mixed = LIST(TEXT("mask"), UINT(1));
	const struct value longest = LIST(TEXT("123456789012345"));
	const struct value longer = LIST(TEXT("1234567890123456"));
	const struct value empty = LIST(TEXT(""));
	struct field_choice choice;
	struct fault fault;

	assert_int_equal(field_choice_parse(&choice, &nothing, true, &fault), 0);
	assert_true(choice.one_hot && field_choice_has(&choice, "anything"));
	assert_int_equal(field_choice_parse(&choice, &none, false, &fault), 0);
	assert_false(choice.one_hot || field_choice_has(&choice, "anything"));
	assert_int_equal(field_choice_parse(&choice, &names, false, &fault), 0);
	assert_true(field_choice_has(&choice, "boxes"));
	assert_false(field_choice_has(&choice, "box"));
	assert_int_equal(field_choice_parse(&choice, &longest, false, &fault), 0);
	assert_true(field_choice_has(&choice, "123456789012345"));

	const struct value *const wrong[] = {&number, &mixed, &longer, &empty};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(field_choice_parse(&choice, wrong[i], false, &fault),
				 FIELD_E_CHOICE);
}

static void test_more_names_than_a_sample_has_fields(void **state)
{
	(void)state;
	struct value name[SEGMENT_NARROW_FIELDS + 1];
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		name[i] = text_value("mask");
	const struct value most = LIST_OF(name, SEGMENT_NARROW_FIELDS);
	const struct value more = LIST_OF(name, SEGMENT_NARROW_FIELDS + 1);
	struct field_choice choice;
	struct fault fault;
	assert_int_equal(field_choice_parse(&choice, &most, false, &fault), 0);
	assert_int_equal(field_choice_parse(&choice, &more, false, &fault), FIELD_E_CHOICE);
}

static void test_a_folder_has_three(void **state)
{
	struct work *work = *state;
	const struct field_choice all = {.views = 1};
	const struct fields fields = fields_of(work, &all);
	const uint32_t image[] = {OUT, OUT, 3};
	assert_int_equal(fields.count, FIELD_FURTHER);
	assert_shape(&fields.field[FIELD_IMAGE], "image", "uint8", 3, image, OUT_BYTES);
	assert_shape(&fields.field[FIELD_INDEX], "index", "int64", 0, NULL, 8);
	assert_int_equal(fields_page(&fields), 1);
}

static void test_columns_are_fields(void **state)
{
	struct work *work = *state;
	const struct field_choice all = {.views = 1};
	open_list(work);
	const struct fields fields = fields_of(work, &all);
	const uint32_t mask[] = {OUT, OUT};
	assert_int_equal(fields.count, FIELD_FURTHER + 2);
	assert_int_equal(fields.mask, FIELD_FURTHER + 1);
	assert_shape(&fields.field[FIELD_FURTHER], "weight", "float32", 0, NULL, 4);
	assert_shape(&fields.field[fields.mask], "mask", "uint8", 2, mask, (size_t)OUT * OUT);
	assert_int_equal(fields.columns[FIELD_FURTHER], 0);
	assert_int_equal(fields.columns[FIELD_INDEX], FIELD_NO_COLUMN);
}

static void test_only_those_that_were_chosen(void **state)
{
	struct work *work = *state;
	const struct field_choice mask = {.views = 1, .some = true, .count = 1, .names = {"mask"}};
	const struct field_choice other = {
		.views = 1, .some = true, .count = 1, .names = {"masks"}};
	struct fields fields;
	struct fault fault;
	open_list(work);
	fields = fields_of(work, &mask);
	assert_int_equal(fields.count, FIELD_FURTHER + 1);
	assert_string_equal(fields.field[FIELD_FURTHER].name, "mask");
	assert_int_equal(fields_init(&fields, work->dataset, work->recipe.pipeline, &other, &fault),
			 FIELD_E_CHOICE);
	assert_non_null(strstr(fault.text, "'masks'"));
}

/* Images and masks have one for each view, numbers do not. */
static void test_views_are_of_pictures(void **state)
{
	struct work *work = *state;
	struct field_choice three = {0};
	struct fault fault;
	assert_int_equal(field_choice_views(&three, 3, work->recipe.pipeline, &fault), 0);
	open_list(work);
	const struct fields fields = fields_of(work, &three);
	const uint32_t image[] = {3, OUT, OUT, 3}, mask[] = {3, OUT, OUT};
	assert_shape(&fields.field[FIELD_IMAGE], "image", "uint8", 4, image, 3 * OUT_BYTES);
	assert_shape(&fields.field[FIELD_FURTHER], "weight", "float32", 0, NULL, 4);
	assert_shape(&fields.field[fields.mask], "mask", "uint8", 3, mask, (size_t)3 * OUT * OUT);
	assert_int_equal(fields_view_bytes(&fields, FIELD_IMAGE), OUT_BYTES);
	assert_int_equal(fields_image(&fields, work->recipe.pipeline, 2).offset, 2 * OUT_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_choice_is_a_list_of_names),
		cmocka_unit_test(test_more_names_than_a_sample_has_fields),
		WORK_CASE(test_a_folder_has_three),
		WORK_CASE(test_columns_are_fields),
		WORK_CASE(test_only_those_that_were_chosen),
		WORK_CASE(test_views_are_of_pictures),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
