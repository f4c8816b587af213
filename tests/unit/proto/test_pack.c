/* SPDX-License-Identifier: MIT */
/*
 * Packing, the structural check and unpacking, on bytes made by hand. FAULTS 39, 40, 42.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/check.h"
#include "proto/pack.h"
#include "proto/tables.h"
#include "tests/unit/test.h"

#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

struct setup {
	struct unpacker *unpacker;
	struct packer *packer;
};

static int set_up(void **state)
{
	struct setup *setup = calloc(1, sizeof(*setup));

	if (!setup || unpacker_new(&setup->unpacker) || packer_new(&setup->packer))
		return -1;
	*state = setup;
	return 0;
}

static int tear_down(void **state)
{
	struct setup *setup = *state;

	unpacker_free(setup->unpacker);
	packer_free(setup->packer);
	free(setup);
	return 0;
}

static struct text packed(const struct setup *setup)
{
	struct text bytes;

	assert_int_equal(packer_bytes(setup->packer, &bytes), 0);
	return bytes;
}

static const struct value *unpacked(const struct setup *setup)
{
	struct text bytes = packed(setup);
	const struct value *value;
	const char *why = NULL;

	if (unpack(setup->unpacker, (const uint8_t *)bytes.data, bytes.size, &value, &why))
		fail_msg("refused: %s", why);
	return value;
}

static void test_numbers_take_their_shortest_form(void **state)
{
	static const struct {
		uint64_t uint;
		size_t size;
	} rows[] = {
		{0, 1},		 {127, 1},	 {128, 2},	  {255, 2},
		{256, 3},	 {65535, 3},	 {65536, 5},	  {UINT32_MAX, 5},
		{1ull << 32, 9}, {INT64_MAX, 9}, {1ull << 63, 9}, {UINT64_MAX, 9},
	};
	static const struct {
		int64_t sint;
		size_t size;
	} below[] = {
		{-1, 1},     {-32, 1},	  {-33, 2},	  {-128, 2},	  {-129, 3},
		{-32768, 3}, {-32769, 5}, {INT32_MIN, 5}, {INT64_MIN, 9},
	};
	struct setup *setup = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		packer_clear(setup->packer);
		pack_uint(setup->packer, rows[i].uint);
		assert_int_equal(packed(setup).size, rows[i].size);
		assert_int_equal(value_kind(unpacked(setup)), VALUE_UINT);
		assert_int_equal(value_uint(unpacked(setup)), rows[i].uint);
	}
	for (size_t i = 0; i < sizeof(below) / sizeof(*below); i++) {
		packer_clear(setup->packer);
		pack_int(setup->packer, below[i].sint);
		assert_int_equal(packed(setup).size, below[i].size);
		assert_int_equal(value_kind(unpacked(setup)), VALUE_INT);
		assert_int_equal(value_sint(unpacked(setup)), below[i].sint);
	}
	packer_clear(setup->packer);
	pack_int(setup->packer, 5); /* no negative number, so no VALUE_INT */
	assert_int_equal(value_kind(unpacked(setup)), VALUE_UINT);
}

static void test_a_tree_comes_back(void **state)
{
	struct setup *setup = *state;
	struct packer *again;
	struct text first, second;
	const struct value *tree;
	double number;

	pack_map(setup->packer, 4);
	pack_string(setup->packer, "list");
	pack_list(setup->packer, 3);
	pack_nil(setup->packer);
	pack_boolean(setup->packer, true);
	pack_float(setup->packer, 0.1);
	pack_string(setup->packer, "empty");
	pack_map(setup->packer, 0);
	pack_string(setup->packer, "");
	pack_text(setup->packer, (struct text){NULL, 0});
	pack_string(setup->packer, "bytes");
	pack_text(setup->packer, (struct text){"\0\xff", 2});
	tree = unpacked(setup);

	assert_int_equal(value_kind(tree), VALUE_MAP);
	assert_int_equal(value_count(tree), 4);
	assert_int_equal(value_count(value_get(tree, "list")), 3);
	assert_int_equal(value_boolean(value_item(value_get(tree, "list"), 1)), true);
	assert_true(value_number(value_item(value_get(tree, "list"), 2), &number) && number == 0.1);
	assert_false(value_number(value_get(tree, "empty"), &number));
	assert_int_equal(value_text(value_get(tree, "")).size, 0);
	assert_memory_equal(value_text(value_get(tree, "bytes")).data, "\0\xff", 2);
	assert_null(value_get(tree, "byte"));
	assert_null(value_get(value_get(tree, "list"), "list"));

	assert_int_equal(packer_new(&again), 0);
	pack_value(again, tree);
	first = packed(setup);
	assert_int_equal(packer_bytes(again, &second), 0);
	assert_int_equal(first.size, second.size);
	assert_memory_equal(first.data, second.data, first.size);
	/* Every shorter piece of it is refused, and so is one byte more. */
	for (size_t size = 0; size < first.size; size++)
		assert_non_null(pack_check((const uint8_t *)first.data, size));
	pack_nil(setup->packer);
	assert_non_null(pack_check((const uint8_t *)packed(setup).data, packed(setup).size));
	packer_free(again);
}

static void test_packed_is_taken_as_it_is(void **state)
{
	struct setup *setup = *state;

	pack_list(setup->packer, 2);
	pack_packed(setup->packer, (struct text){"\x91\x05", 2});
	pack_uint(setup->packer, 6);
	assert_int_equal(value_uint(value_item(value_item(unpacked(setup), 0), 0)), 5);
	assert_int_equal(value_uint(value_item(unpacked(setup), 1)), 6);
}

static void pack_entries(struct packer *packer, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		pack_key_uint(packer, "key", i);
}

/* The head of a map of `count` entries, or the place where pack_map_end() will put it. */
static size_t begin_map(struct packer *packer, uint32_t count, bool by_hand)
{
	if (by_hand)
		pack_map(packer, count);
	return pack_map_begin(packer);
}

static void end_map(struct packer *packer, size_t begin, bool by_hand)
{
	if (!by_hand)
		pack_map_end(packer, begin);
}

/* A list with a map of 5 + `count` entries; one of them is a map of `count` entries. */
static void pack_example(struct packer *packer, uint32_t count, bool by_hand)
{
	size_t map, inner;

	packer_clear(packer);
	pack_list(packer, 2);
	pack_string(packer, "before");
	map = begin_map(packer, 5 + count, by_hand);
	pack_string(packer, "boolean");
	pack_boolean(packer, true);
	pack_string(packer, "float");
	pack_float(packer, 0.5);
	pack_key_string(packer, "string", "value");
	pack_string(packer, "inner");
	inner = begin_map(packer, count, by_hand);
	pack_entries(packer, count);
	end_map(packer, inner, by_hand);
	pack_string(packer, "list");
	pack_list(packer, 2);
	pack_map(packer, 1);
	pack_entries(packer, 1);
	pack_nil(packer);
	pack_entries(packer, count);
	end_map(packer, map, by_hand);
}

static void test_a_map_counts_its_entries(void **state)
{
	static const uint32_t counts[] = {0, 1, 10, 11, 15, 16, 300};
	struct setup *setup = *state;
	struct packer *counted;
	struct text told;

	assert_int_equal(packer_new(&counted), 0);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		pack_example(setup->packer, counts[i], false);
		pack_example(counted, counts[i], true);
		assert_int_equal(packer_bytes(counted, &told), 0);
		assert_int_equal(packed(setup).size, told.size);
		assert_memory_equal(packed(setup).data, told.data, told.size);
	}
	packer_clear(setup->packer);
	pack_map_end(setup->packer, pack_map_begin(setup->packer));
	assert_int_equal(packed(setup).size, 1);
	assert_int_equal(value_kind(unpacked(setup)), VALUE_MAP);
	packer_free(counted);
}

static void test_a_map_that_does_not_fit(void **state)
{
	struct setup *setup = *state;
	uint8_t bytes[1 + 5 + 5];
	struct text out;
	size_t map;

	for (size_t size = 0; size <= sizeof(bytes); size++) {
		struct packer packer = packer_over(bytes, size);

		map = pack_map_begin(&packer);
		pack_entries(&packer, 2);
		pack_map_end(&packer, map);
		assert_int_equal(packer_bytes(&packer, &out), size < sizeof(bytes) ? -EMSGSIZE : 0);
	}
	assert_memory_equal(out.data, "\x82\xa3key\x00\xa3key\x01", sizeof(bytes));
	/* More values than any receiver takes. */
	map = pack_map_begin(setup->packer);
	pack_entries(setup->packer, PROTO_NODES_MAX / 2 + 1);
	pack_map_end(setup->packer, map);
	assert_int_equal(packer_bytes(setup->packer, &out), -EMSGSIZE);
}

static long peak_kilobytes(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[128];
	long peak = -1;

	assert_non_null(status);
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "VmPeak: %ld", &peak) == 1)
			break;
	fclose(status);
	assert_true(peak > 0);
	return peak;
}

static void assert_refused(struct setup *setup, const uint8_t *bytes, size_t size)
{
	const char *why = NULL;
	const struct value *value;

	assert_non_null(pack_check(bytes, size));
	assert_int_equal(unpack(setup->unpacker, bytes, size, &value, &why), UNPACK_E_STRUCTURE);
	assert_non_null(why);
}

/* FAULTS 39: five bytes that claim gigabytes allocate nothing. */
static void test_claims_without_bytes_are_refused(void **state)
{
	struct setup *setup = *state;
	uint8_t nested[30 * 5];
	long peak = peak_kilobytes();

	assert_refused(setup, BYTES(0xdd, 0x04, 0x00, 0x00, 0x00));
	assert_refused(setup, BYTES(0xdd, 0xff, 0xff, 0xff, 0xff));
	assert_refused(setup, BYTES(0xdf, 0xff, 0xff, 0xff, 0xff));
	assert_refused(setup, BYTES(0xdf, 0x80, 0x00, 0x00, 0x00)); /* twice that is 2^32 */
	assert_refused(setup, BYTES(0xdb, 0xff, 0xff, 0xff, 0xff));
	assert_refused(setup, BYTES(0xc6, 0xff, 0xff, 0xff, 0xff));
	assert_refused(setup, BYTES(0xc9, 0xff, 0xff, 0xff, 0xff, 0x01));
	assert_refused(setup, BYTES(0xdc, 0x00, 0x02, 0xc0));
	assert_refused(setup, BYTES(0xde, 0x00, 0x01, 0xc0));
	assert_refused(setup, BYTES(0xd9, 0x02, 'a'));
	for (size_t i = 0; i < sizeof(nested); i += 5)
		memcpy(nested + i, "\xdd\x04\x00\x00\x00", 5);
	assert_refused(setup, nested, sizeof(nested));
	assert_true(peak_kilobytes() - peak < 1024);
}

static void test_ext_and_nothing_are_refused(void **state)
{
	struct setup *setup = *state;

	assert_refused(setup, BYTES(0xc1));
	assert_refused(setup, BYTES(0xd4, 0x01, 0x00));
	assert_refused(setup, BYTES(0xc7, 0x00, 0x01));
	assert_refused(setup, BYTES(0x91, 0xd5, 0x01, 0x00, 0x00));
	assert_refused(setup, (const uint8_t *)"", 0);
	for (unsigned lead = 0; lead < 256;
	     lead++) { /* as a single byte, only these are a whole value */
		uint8_t byte = (uint8_t)lead;
		int whole = lead < 0x80 || lead >= 0xe0 || lead == 0x80 || lead == 0x90 ||
			    lead == 0xa0 || lead == 0xc0 || lead == 0xc2 || lead == 0xc3;

		assert_int_equal(pack_check(&byte, 1) == NULL, whole);
	}
}

/* FAULTS 40 */
static void test_depth(void **state)
{
	struct setup *setup = *state;
	static uint8_t deep[PROTO_FRAME_MAX];
	const struct value *value;
	const char *why;

	memset(deep, 0x91, sizeof(deep));
	assert_refused(setup, deep, sizeof(deep));
	deep[PROTO_DEPTH_MAX] = 0xc0;
	assert_int_equal(unpack(setup->unpacker, deep, PROTO_DEPTH_MAX + 1, &value, &why), 0);
	for (int depth = 0; depth < PROTO_DEPTH_MAX; depth++) {
		assert_int_equal(value_kind(value), VALUE_LIST);
		value = value_item(value, 0);
	}
	assert_int_equal(value_kind(value), VALUE_NIL);
	deep[PROTO_DEPTH_MAX] = 0x90;
	assert_refused(setup, deep, PROTO_DEPTH_MAX + 1);
}

static void test_number_of_values(void **state)
{
	struct setup *setup = *state;
	static uint8_t list[3 + PROTO_NODES_MAX];
	uint32_t nodes = 0;

	memset(list, 0x07, sizeof(list));
	list[0] = 0xdc;
	list[1] = (PROTO_NODES_MAX - 1) >> 8;
	list[2] = (PROTO_NODES_MAX - 1) & 0xff;
	assert_null(bytes_check(list, 3 + PROTO_NODES_MAX - 1, &nodes));
	assert_int_equal(nodes, PROTO_NODES_MAX);
	list[1] = PROTO_NODES_MAX >> 8;
	list[2] = PROTO_NODES_MAX & 0xff;
	assert_refused(setup, list, sizeof(list));
}

static void assert_wrong(struct setup *setup, const uint8_t *bytes, size_t size, const char *word)
{
	const char *why = "";
	const struct value *value;

	assert_int_equal(unpack(setup->unpacker, bytes, size, &value, &why), UNPACK_E_VALUE);
	if (!strstr(why, word))
		fail_msg("\"%s\" does not say \"%s\"", why, word);
}

/* FAULTS 42 */
static void test_wrong_values_are_named(void **state)
{
	struct setup *setup = *state;

	assert_wrong(setup, BYTES(0x82, 0xa1, 'k', 1, 0xa1, 'k', 1), "k occurs twice");
	assert_wrong(setup, BYTES(0x82, 0xa1, 'k', 1, 0xc4, 1, 'k', 1), "k occurs twice");
	assert_wrong(setup, BYTES(0x91, 0x82, 0xa0, 1, 0xa0, 1), "occurs twice");
	assert_wrong(setup, BYTES(0x82, 0xa1, 0x07, 1, 0xa1, 0x07, 1), "? occurs twice");
	assert_wrong(setup, BYTES(0x81, 0x01, 0x01), "not a text");
	assert_wrong(setup, BYTES(0x81, 0xa1, 'k', 0xca, 0x7f, 0xc0, 0, 0), "k must be a finite");
	assert_wrong(setup, BYTES(0x81, 0xa1, 'k', 0x91, 0xcb, 0xff, 0xf0, 0, 0, 0, 0, 0, 0),
		     "k must be a finite");
	assert_wrong(setup, BYTES(0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0), "finite");
}

static void pack_numbered_map(struct packer *packer, uint32_t keys, uint32_t twin)
{
	char key[16];

	packer_clear(packer);
	pack_map(packer, keys);
	for (uint32_t i = 0; i < keys; i++) {
		snprintf(key, sizeof(key), "k%u", i == twin ? i / 2 : i);
		pack_string(packer, key);
		pack_uint(packer, i);
	}
}

static void test_a_large_map(void **state)
{
	struct setup *setup = *state;
	uint32_t keys = PROTO_NODES_MAX / 2 - 1;
	struct text bytes;
	const struct value *map;

	pack_numbered_map(setup->packer, keys, UINT32_MAX);
	map = unpacked(setup);
	assert_int_equal(value_count(map), keys);
	for (uint32_t i = 0; i < keys; i++)
		assert_int_equal(value_uint(value_at(map, i)), i); /* the order is the sender's */
	pack_numbered_map(setup->packer, keys, keys - 1);
	bytes = packed(setup);
	assert_wrong(setup, (const uint8_t *)bytes.data, bytes.size, "occurs twice");
}

/* One unpacker serves all frames: a large or a bad one has no effect on the next. */
static void test_an_unpacker_is_reused(void **state)
{
	struct setup *setup = *state;

	for (int round = 0; round < 3; round++) {
		test_a_large_map(state);
		test_depth(state);
		test_wrong_values_are_named(state);
		packer_clear(setup->packer);
		pack_string(setup->packer, "small");
		assert_true(text_equals(value_text(unpacked(setup)), "small"));
	}
}

/* For any bytes: what passes the check can be parsed, and nothing crashes. */
static void test_random_bytes(void **state)
{
	struct setup *setup = *state;
	unsigned good = 0;
	uint32_t random = 12345;

	for (int round = 0; round < 200000; round++) {
		uint8_t bytes[16];
		size_t size = 1 + round % sizeof(bytes);
		const struct value *value;
		const char *why;
		int result;

		for (size_t i = 0; i < size; i++) {
			random = random * 1664525 + 1013904223;
			bytes[i] = (uint8_t)(random >> 24);
			if (random >> 16 & 1) /* more heads of lists and maps than there would be */
				bytes[i] = 0x80 | (bytes[i] & 0x1f);
		}
		result = unpack(setup->unpacker, bytes, size, &value, &why);
		assert_in_range(result, 0, UNPACK_E_VALUE);
		assert_int_equal(result == UNPACK_E_STRUCTURE, pack_check(bytes, size) != NULL);
		good += result == 0;
	}
	assert_true(good > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(test_numbers_take_their_shortest_form),
		TEST(test_a_tree_comes_back),
		TEST(test_packed_is_taken_as_it_is),
		TEST(test_a_map_counts_its_entries),
		TEST(test_a_map_that_does_not_fit),
		TEST(test_claims_without_bytes_are_refused),
		TEST(test_ext_and_nothing_are_refused),
		TEST(test_depth),
		TEST(test_number_of_values),
		TEST(test_wrong_values_are_named),
		TEST(test_a_large_map),
		TEST(test_an_unpacker_is_reused),
		TEST(test_random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
