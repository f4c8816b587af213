// SPDX-License-Identifier: MIT
/*
 * Kept lists: what was added comes again, links without what they lead to, sorted by name once
 * that is asked for; bytes that are no list are found.
 */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "storage/kept_list.h"

static const struct storage_entry entries[] = {
	{.name = "b", .kind = STORAGE_FOLDER, .id = {7, 9}},
	{.name = "c.jpg", .kind = STORAGE_FILE},
	{.name = "a", .kind = STORAGE_FILE, .link = true},
	{.name = "B.jpg", .kind = STORAGE_FILE},
	{.name = "\xc3\xa4.jpg", .kind = STORAGE_FILE},
};
#define COUNT (sizeof(entries) / sizeof(*entries))

static struct kept_list list_of_all(void)
{
	struct kept_list list = {NULL};
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(kept_list_add(&list, &entries[i]), 0);
	return list;
}

static void assert_order(const struct kept_list *list, const size_t order[COUNT])
{
	struct storage_entry entry;
	uint64_t at = 0;
	for (size_t i = 0; i < COUNT; i++) {
		const struct storage_entry *added = &entries[order[i]];
		assert_true(kept_list_next(list, &at, &entry));
		assert_string_equal(entry.name, added->name);
		assert_int_equal(entry.kind, added->link ? STORAGE_OTHER : added->kind);
		assert_memory_equal(entry.id, added->id, sizeof(entry.id));
	}
	assert_false(kept_list_next(list, &at, &entry));
}

static void test_entries_come_again(void **state)
{
	(void)state;
	struct kept_list list = list_of_all();
	assert_true(kept_list_is_whole(&list));
	assert_order(&list, (const size_t[]){0, 1, 2, 3, 4});
	free(list.data);
}

static void test_sorted_by_the_bytes_of_names(void **state)
{
	(void)state;
	struct kept_list list = list_of_all(), none = {NULL};
	assert_int_equal(kept_list_sort(&none), 0);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(kept_list_sort(&list), 0);
		assert_true(kept_list_is_whole(&list));
		assert_order(&list, (const size_t[]){3, 2, 0, 1, 4});
	}
	free(list.data);
}

static void test_a_cut_list_is_found(void **state)
{
	(void)state;
	struct kept_list list = list_of_all();
	size_t wholes = 0;
	for (uint64_t size = 0; size <= list.size; size++) {
		/* Memory that ends where the list does: a sanitizer sees a read behind it. */
		struct kept_list cut = {.data = malloc(size ? size : 1), .size = size};
		memcpy(cut.data, list.data, size);
		wholes += kept_list_is_whole(&cut);
		free(cut.data);
	}
	assert_int_equal(wholes, COUNT + 1); /* where an entry ends, and nothing at all */
	free(list.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries_come_again),
		cmocka_unit_test(test_sorted_by_the_bytes_of_names),
		cmocka_unit_test(test_a_cut_list_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
