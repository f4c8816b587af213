/* SPDX-License-Identifier: MIT */
/* Rows: what is packed of a struct, what is left out, and which columns words name. */
#include <string.h>

#include "proto/pack.h"
#include "proto/row.h"
#include "tests/unit/test.h"

static void packs(enum row_kind kind, const void *row, const struct packer *expected)
{
	struct packer *packer;
	struct text got, wanted;

	assert_int_equal(packer_new(&packer), 0);
	row_pack(packer, kind, row);
	assert_int_equal(packer_bytes(packer, &got), 0);
	assert_int_equal(packer_bytes(expected, &wanted), 0);
	assert_int_equal(got.size, wanted.size);
	assert_memory_equal(got.data, wanted.data, wanted.size);
	packer_free(packer);
}

static void test_what_is_left_out(void **state)
{
	struct row_dataset row = {.dataset = 3,
				  .path = "/a",
				  .state = "indexing",
				  .found = UINT64_MAX,
				  .samples = ROW_NONE,
				  .classes = ROW_NONE,
				  .index_bytes = 0};
	struct packer *expected;

	(void)state;
	assert_int_equal(packer_new(&expected), 0);
	pack_map(expected, 5);
	pack_key_uint(expected, "dataset", 3);
	pack_key_string(expected, "path", "/a");
	pack_key_string(expected, "state", "indexing");
	pack_key_uint(expected, "found", UINT64_MAX); /* of a column that is always there */
	pack_key_uint(expected, "index_bytes", 0);
	packs(ROW_DATASET, &row, expected);

	packer_clear(expected);
	pack_map(expected, 7);
	pack_key_uint(expected, "dataset", 3);
	pack_key_string(expected, "path", "/a");
	pack_key_string(expected, "state", "indexing");
	pack_key_uint(expected, "found", UINT64_MAX);
	pack_key_string(expected, "fingerprint", "00112233445566778899aabbccddeeff");
	pack_key_uint(expected, "index_bytes", 0);
	pack_key_string(expected, "note", "");
	strcpy(row.fingerprint, "00112233445566778899aabbccddeeff");
	row.note = "";
	packs(ROW_DATASET, &row, expected);
	packer_free(expected);
}

static void test_what_another_packer_holds(void **state)
{
	uint8_t room[8];
	struct packer *changes, *expected, full = packer_over(room, sizeof(room));
	struct row_reload row = {.file = "/f"};
	struct text text;

	(void)state;
	assert_int_equal(packer_new(&changes) | packer_new(&expected), 0);
	pack_list(changes, 1);
	pack_uint(changes, 9);
	row.changes = changes;
	pack_map(expected, 2);
	pack_key_string(expected, "file", "/f");
	pack_string(expected, "changes");
	pack_list(expected, 1);
	pack_uint(expected, 9);
	packs(ROW_RELOAD, &row, expected);

	pack_string(&full, "longer than that"); /* its error is that of the row */
	row.changes = &full;
	packer_clear(expected);
	row_pack(expected, ROW_RELOAD, &row);
	assert_true(packer_bytes(expected, &text) < 0);
	packer_free(changes);
	packer_free(expected);
}

static void test_words(void **state)
{
	const char *keys = "rank/world age_s";

	(void)state;
	assert_string_equal(row_next(ROW_READER, &keys)->key, "rank");
	assert_int_equal(*keys, '/');
	assert_string_equal(row_next(ROW_READER, &keys)->key, "world");
	assert_int_equal(row_next(ROW_READER, &keys)->unit, UNIT_SECONDS);
	assert_null(row_next(ROW_READER, &keys));
	assert_null(row_find(ROW_READER, "age"));
	assert_string_equal(row_find(ROW_READER, "age_s")->title, "AGE");
	assert_string_equal(ROW_KEY(reader, age_s), "age_s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_left_out),
		cmocka_unit_test(test_what_another_packer_holds),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
