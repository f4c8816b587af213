/* SPDX-License-Identifier: MIT */
/* Headers of version 2 of a ring: good and hostile, and samples of ragged fields. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/c/ring.h"
#include "tests/unit/client/fake.h"
#include "tests/unit/test.h"

/* Sixty fields of all types, one of 32 dimensions, one ragged. */
struct wide {
	struct segment_header header;
	uint8_t rows[4 * SEGMENT_PAGE];
};
#define WIDE_FIELDS 60
#define WIDE_RAGGED 59
#define WIDE_DEEP 58

static struct segment_field *wide_row(struct wide *wide, uint32_t number)
{
	return (struct segment_field *)(void *)((uint8_t *)wide + SEGMENT_ROWS_AT +
						number * sizeof(struct segment_field));
}

static void wide_name(struct wide *wide, uint32_t number, const char *name, const char *dtype,
		      uint64_t stride)
{
	struct segment_field *row = wide_row(wide, number);
	*row = (struct segment_field){.stride = stride,
				      .offset = (4 + (uint64_t)number) * SEGMENT_PAGE};
	strcpy(row->name, name);
	snprintf(row->dtype, sizeof(row->dtype), "%s", dtype);
}

static struct wide wide_header(void)
{
	static const struct {
		const char *dtype;
		uint64_t bytes;
	} types[] = {
#define DTYPE(name, bytes) {#name, bytes},
		DTYPE_TABLE(DTYPE)};
	struct wide wide = {.header = {.magic = SEGMENT_MAGIC,
				       .version = 2,
				       .header_bytes = 4 * SEGMENT_PAGE,
				       .total_bytes = 64 * SEGMENT_PAGE,
				       .ring = FAKE_RING,
				       .slots = 4,
				       .n_fields = WIDE_FIELDS,
				       .row_bytes = sizeof(struct segment_field)}};
	for (uint32_t i = 3; i < WIDE_FIELDS; i++) {
		char name[60];
		snprintf(name, sizeof(name), "a_name_much_longer_than_sixteen_%u", i);
		wide_name(&wide, i, name, types[i % 15].dtype, types[i % 15].bytes);
	}
	wide_name(&wide, 0, "image", "float64", 8);
	wide_name(&wide, 1, "label", "bool", 1);
	wide_name(&wide, 2, "index", "int64", 8);
	wide_name(&wide, WIDE_DEEP, "deep", "int16", 4);
	wide_row(&wide, WIDE_DEEP)->dims = 32;
	for (int i = 0; i < 32; i++)
		wide_row(&wide, WIDE_DEEP)->shape[i] = i == 7 ? 2 : 1;
	wide_name(&wide, WIDE_RAGGED, "ragged", "float32", 16 + 64);
	wide_row(&wide, WIDE_RAGGED)->kind = SEGMENT_RAGGED;
	wide_row(&wide, WIDE_RAGGED)->dims = 2;
	wide_row(&wide, WIDE_RAGGED)->shape[1] = 4;
	return wide;
}

static int wide_parse(const struct wide *wide, struct ring *ring, struct fault *fault)
{
	*ring = (struct ring){.bytes = 64 * SEGMENT_PAGE};
	return ring_parse(ring, wide,
			  wide->header.header_bytes < sizeof(*wide) ? wide->header.header_bytes
								    : sizeof(*wide),
			  FAKE_RING, fault);
}

static void test_wide_header(void **state)
{
	struct wide wide = wide_header();
	struct ring ring;
	struct fault fault;
	(void)state;
	assert_int_equal(wide_parse(&wide, &ring, &fault), 0);
	assert_int_equal(ring.n_fields, WIDE_FIELDS);
	assert_string_equal(ring_find(&ring, "label")->dtype, "bool");
	assert_int_equal(ring_find(&ring, "deep")->dims, 32);
	assert_int_equal(ring_find(&ring, "deep")->shape[7], 2);
	assert_true(ring_find(&ring, "ragged")->ragged);
	ring_deinit_fields(&ring);
	wide_row(&wide, 40)->kind = 3; /* of a newer daemon */
	wide_row(&wide, 40)->stride = 0;
	assert_int_equal(wide_parse(&wide, &ring, &fault), 0);
	assert_int_equal(ring.n_fields, WIDE_FIELDS - 1);
	ring_deinit_fields(&ring);
}

/* The shape that stands in a slot is the daemon's word alone. */
static void test_ragged_slots(void **state)
{
	struct wide wide = wide_header();
	struct ring ring;
	struct fault fault;
	uint64_t shape[SEGMENT_DIMS_MAX];
	uint8_t *data = calloc(64, SEGMENT_PAGE);
	(void)state;
	assert_int_equal(wide_parse(&wide, &ring, &fault), 0);
	ring.data = data;
	const struct ring_field *field = ring_find(&ring, "ragged");
	static const struct {
		uint64_t shape[2];
		bool good;
	} said[] = {
		{{0, 4}, true},	 {{4, 4}, true},	   {{5, 4}, false},
		{{1, 3}, false}, {{UINT64_MAX, 4}, false}, {{1ULL << 60, 4}, false},
	};
	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
		memcpy(data + field->offset + 3 * field->stride, said[i].shape, 16);
		const void *numbers = ring_ragged(&ring, field, 3, shape);
		assert_ptr_equal(numbers, said[i].good
						  ? data + field->offset + 3 * field->stride + 16
						  : NULL);
	}
	free(data);
	ring_deinit_fields(&ring);
}

/* The image has a height and width in each batch, and up to 24 bytes. */
static struct wide sized_header(void)
{
	struct wide wide = wide_header();
	struct segment_field *row = wide_row(&wide, 0);
	wide_name(&wide, 0, "image", "uint8", 24);
	row->kind = SEGMENT_SIZED;
	row->dims = 3;
	row->shape[2] = 3;
	return wide;
}

static void test_sized_slots(void **state)
{
	static const struct {
		struct ring_size size;
		uint32_t first;
		bool good;
	} said[] = {
		{{2, 4, 1}, 2, true},	       {{1, 1, 0}, 3, true},  {{0, 4, 1}, 2, false},
		{{2, 0, 1}, 2, false},	       {{3, 3, 1}, 2, false}, {{2, 4, 3}, 2, false},
		{{16384, 16384, 0}, 0, false},
	};
	struct wide wide = sized_header();
	struct ring ring;
	struct fault fault;
	(void)state;
	assert_int_equal(wide_parse(&wide, &ring, &fault), 0);
	assert_true(ring_is_sized(&ring));
	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++)
		assert_int_equal(ring_has_size(&ring, &said[i].size, said[i].first), said[i].good);
	const struct ring_size size = {2, 3, 1};
	const struct ring_field own = ring_field_of(ring_find(&ring, "image"), &size);
	assert_int_equal(own.stride, 18);
	assert_int_equal(own.shape[0], 2);
	assert_int_equal(own.shape[1], 3);
	/* Slot 3 is the third sample from slot 1 on. */
	assert_int_equal(own.offset + 3 * own.stride, 4 * SEGMENT_PAGE + 24 + 2 * 18);
	ring_deinit_fields(&ring);
}

static const struct {
	uint32_t dims, shape[4];
	uint64_t stride;
} wrong_sizes[] = {
	{3, {0, 4, 3}, 24}, {3, {0, 3, 0}, 24}, {3, {0, 0, 0}, 24},	   {2, {3, 0}, 24},
	{0, {0}, 24},	    {3, {0, 0, 3}, 2},	{3, {0, 0, 1U << 31}, 24}, {3, {0, 0, 3}, 0},
};

static void assert_wide_is_wrong(const struct wide *wide, const char *words);

static void test_hostile_sizes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wrong_sizes) / sizeof(*wrong_sizes); i++) {
		struct wide wide = sized_header();
		struct segment_field *row = wide_row(&wide, 0);
		row->dims = wrong_sizes[i].dims;
		memcpy(row->shape, wrong_sizes[i].shape, sizeof(wrong_sizes[i].shape));
		row->stride = wrong_sizes[i].stride;
		assert_wide_is_wrong(&wide, "inconsistent sizes");
	}
}

static const struct {
	size_t offset, size;
	uint64_t value;
	const char *words;
} wides[] = {
#define AT(member)                                                                                 \
	offsetof(struct segment_header, member), sizeof(((struct segment_header *)0)->member)
#define ROW(number, member)                                                                        \
	SEGMENT_ROWS_AT + (number) * sizeof(struct segment_field) +                                \
		offsetof(struct segment_field, member),                                            \
		sizeof(((struct segment_field *)0)->member)
	{AT(row_bytes), 0, "invalid numbers"},
	{AT(row_bytes), 255, "invalid numbers"},
	{AT(row_bytes), UINT32_MAX, "invalid numbers"},
	{AT(n_fields), 64, "invalid numbers"},
	{AT(n_fields), UINT32_MAX, "invalid numbers"},
	{AT(n_fields), 2, "no field index"},
	{AT(header_bytes), 4095, "not of version"},
	{AT(header_bytes), 4097, "invalid numbers"},
	{AT(header_bytes), 1U << 31, "invalid numbers"},
	{AT(slots), 0, "invalid numbers"},
	{ROW(4, dims), 33, "too many dimensions"},
	{ROW(4, dims), UINT32_MAX, "too many dimensions"},
	{ROW(WIDE_DEEP, shape), 0, "inconsistent sizes"},
	{ROW(WIDE_DEEP, stride), 8, "inconsistent sizes"},
	{ROW(WIDE_RAGGED, dims), 0, "inconsistent sizes"},
	{ROW(WIDE_RAGGED, stride), 8, "inconsistent sizes"},
	{ROW(WIDE_RAGGED, stride), 84, "inconsistent sizes"},
	{ROW(WIDE_RAGGED, stride), 1ULL << 62, "outside of the ring"},
	{ROW(WIDE_RAGGED, offset), 4 * SEGMENT_PAGE + 4, "inconsistent sizes"},
	{ROW(WIDE_RAGGED, offset), 4 * SEGMENT_PAGE, "overlaps another one"},
	{ROW(3, offset), 3 * SEGMENT_PAGE, "outside of the ring"},
#undef AT
#undef ROW
};

static void assert_wide_is_wrong(const struct wide *wide, const char *words)
{
	struct ring ring;
	struct fault fault = FAULT_NULL;
	assert_int_equal(wide_parse(wide, &ring, &fault), -EPROTO);
	ring_deinit_fields(&ring);
	if (!strstr(fault.text, words))
		fail_msg("'%s' does not say '%s'", fault.text, words);
}

static void test_hostile_wide_headers(void **state)
{
	struct wide wide;
	(void)state;
	for (size_t i = 0; i < sizeof(wides) / sizeof(*wides); i++) {
		const uint64_t value[SEGMENT_DIMS_MAX] = {wides[i].value};
		wide = wide_header();
		memcpy((char *)&wide + wides[i].offset, value, wides[i].size);
		assert_wide_is_wrong(&wide, wides[i].words);
	}
	wide = wide_header();
	memset(wide_row(&wide, 9)->name, 'w', SEGMENT_NAME_MAX);
	assert_wide_is_wrong(&wide, "without a valid name");
	wide = wide_header();
	memcpy(wide_row(&wide, 9)->name, "index", 6);
	assert_wide_is_wrong(&wide, "index occurs twice");
	wide = wide_header(); /* 2^64 bytes, and 2 */
	for (int i = 0; i < 32; i++)
		wide_row(&wide, WIDE_DEEP)->shape[i] = 65536;
	assert_wide_is_wrong(&wide, "deep is too large");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wide_header),	     cmocka_unit_test(test_ragged_slots),
		cmocka_unit_test(test_hostile_wide_headers), cmocka_unit_test(test_sized_slots),
		cmocka_unit_test(test_hostile_sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
