// SPDX-License-Identifier: MIT
/*
 * A JPEG decoded by its seek index has the pixels that libjpeg alone gives: for every sampling, at
 * the first decode, which builds the index, and at later ones. A file without an index, or with a
 * wrong one, is decoded by libjpeg alone.
 */
#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"
#include "decode/jpeg/seek_index_set.h"
#include "tests/unit/pictures.h"
#include "tests/unit/test.h"

static struct decoder *decoder; /* one for all tests, as a worker uses it */

/* A set of indexes for one sample, and its counters. */
struct fixture {
	struct seek_index_budget account;
	struct seek_index_set *set;
};

static void fixture_init(struct fixture *fixture)
{
	*fixture = (struct fixture){.account = {.limit = 16 << 20}};
	assert_int_equal(seek_index_set_new(&fixture->set, &fixture->account, NULL, 1), 0);
}

static void fixture_deinit(struct fixture *fixture)
{
	seek_index_set_free(fixture->set);
	assert_int_equal(fixture->account.bytes, 0);
}

static unsigned long fixture_refused(const struct fixture *fixture)
{
	unsigned long sum = 0;
	for (int i = 0; i < SEEK_INDEX_REASONS; i++)
		sum += fixture->account.refused[i];
	return sum;
}

static const struct stamp some_stamp = {4711, 123456789};

static int read_part(const struct picture *picture, struct seek_index_set *set, struct rect need,
		     struct image *image)
{
	const struct decode_origin origin = {set, 0, some_stamp};
	struct fault fault;
	int32_t width, height;
	int r = decoder_begin(decoder, picture->data, picture->size, &DECODE_LIMITS_DEFAULT, false,
			      &width, &height, &fault);
	if (r)
		return r;
	decoder_set_origin(decoder, &origin);
	return decoder_read(decoder, need, image, &fault);
}

static bool part_is(const struct image *image, struct rect need, const uint8_t *whole)
{
	const struct rect *area = &image->area;
	if (area->x < 0 || area->y < 0 || area->x > need.x || area->y > need.y ||
	    area->x + area->width < need.x + need.width ||
	    area->y + area->height < need.y + need.height || area->x + area->width > image->width ||
	    area->y + area->height > image->height)
		return false;
	for (int32_t y = need.y; y < need.y + need.height; y++) {
		const uint8_t *row = image->pixels + (size_t)(y - area->y) * image->stride +
				     (size_t)(need.x - area->x) * 3;
		const uint8_t *expected = whole + ((size_t)y * image->width + need.x) * 3;
		if (memcmp(row, expected, (size_t)need.width * 3) != 0)
			return false;
	}
	return true;
}

static void check_part(const struct picture *picture, struct seek_index_set *set, struct rect need,
		       const uint8_t *whole)
{
	struct image image;
	assert_int_equal(read_part(picture, set, need, &image), 0);
	if (!part_is(&image, need, whole))
		fail_msg("%dx%d, part %d,%d %dx%d differs", image.width, image.height, need.x,
			 need.y, need.width, need.height);
}

static const struct {
	int components, h, v;
} samplings[] = {
	{1, 1, 1},  {1, 2, 2}, {3, 1, 1}, {3, 2, 1},  {3, 2, 2},  {3, 1, 2},
	{3, 4, 1},  {3, 4, 2}, {3, 1, 4}, {3, 2, 4},  {3, 3, 1},  {3, 3, 2},
	{-3, 1, 1}, {4, 1, 1}, {4, 2, 2}, {-4, 1, 1}, {-4, 2, 1},
};
#define SAMPLINGS (sizeof(samplings) / sizeof(*samplings))

static struct picture make(size_t sampling, int width, int height, enum jpeg_way way)
{
	return picture_jpeg(&(struct jpeg_recipe){width, height, samplings[sampling].components,
						  samplings[sampling].h, samplings[sampling].v,
						  way});
}

static void check_parts(size_t sampling, int width, int height, int parts)
{
	struct picture picture = make(sampling, width, height, JPEG_BASELINE);
	uint8_t *whole = jpeg_plain(&picture);
	struct fixture fixture;
	fixture_init(&fixture);
	for (int i = 0; i < parts; i++)
		check_part(&picture, fixture.set,
			   i == 1 ? (struct rect){0, 0, width, height} : random_rect(width, height),
			   whole);
	assert_int_equal(fixture.account.built, 1);
	assert_int_equal(fixture.account.used, parts - 1);
	assert_int_equal(fixture_refused(&fixture), 0);
	fixture_deinit(&fixture);
	free(whole);
	free(picture.data);
}

static void test_every_sampling_and_size(void **state)
{
	static const int sizes[][2] = {{1, 1},	 {2, 9},    {7, 3},    {8, 8},	 {16, 16},
				       {17, 33}, {1, 70},   {70, 1},   {31, 47}, {64, 64},
				       {35, 75}, {129, 90}, {600, 20}, {530, 41}};
	(void)state;
	for (size_t s = 0; s < SAMPLINGS; s++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			check_parts(s, sizes[i][0], sizes[i][1], 14);
	check_parts(4, 65500, 1, 6);
	check_parts(4, 1, 65500, 6);
}

/* Every position of a small part, so that each distance from an MCU's border occurs; the widths end
 * at each column of an MCU. */
static void test_every_place(void **state)
{
	static const int widths[] = {64, 65, 67, 71, 82, 90};
	(void)state;
	for (size_t s = 0; s < SAMPLINGS; s++)
		for (size_t w = 0; w < sizeof(widths) / sizeof(*widths); w++) {
			int width = widths[w];
			struct picture picture = make(s, width, 70, JPEG_BASELINE);
			uint8_t *whole = jpeg_plain(&picture);
			struct fixture fixture;
			fixture_init(&fixture);
			for (int32_t i = 0; i < 64; i += 3) {
				int32_t x = width - 1 - i;
				check_part(&picture, fixture.set, (struct rect){x, i, 1, 1}, whole);
				check_part(&picture, fixture.set,
					   (struct rect){i / 2, i, width - i, 2}, whole);
				check_part(&picture, fixture.set, (struct rect){i, i / 2, 1, 35},
					   whole);
			}
			fixture_deinit(&fixture);
			free(whole);
			free(picture.data);
		}
}

/* A file without an index is counted once, by its reason, and decoded all the same. */
static void test_refusals(void **state)
{
	static const struct {
		enum jpeg_way way;
		int reason;
	} ways[] = {{JPEG_PROGRESSIVE, SEEK_INDEX_E_PROGRESSIVE},
		    {JPEG_SEPARATE, SEEK_INDEX_E_SCANS},
		    {JPEG_RESTARTS, SEEK_INDEX_E_RESTARTS},
		    {JPEG_ARITHMETIC, SEEK_INDEX_E_ARITHMETIC}};
	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct picture picture = make(4, 67, 43, ways[i].way);
		uint8_t *whole = jpeg_plain(&picture);
		struct fixture fixture;
		fixture_init(&fixture);
		for (int round = 0; round < 3; round++)
			check_part(&picture, fixture.set, random_rect(67, 43), whole);
		assert_int_equal(fixture.account.refused[ways[i].reason], 1);
		assert_int_equal(fixture_refused(&fixture), 1);
		assert_int_equal(fixture.account.built, 0);
		fixture_deinit(&fixture);
		free(whole);
		free(picture.data);
	}
}

/* Twelve bits are refused by libjpeg itself, before an index is built. */
static void test_twelve_bits(void **state)
{
	struct picture picture = make(4, 67, 43, JPEG_BASELINE);
	struct fixture fixture;
	struct image image;
	(void)state;
	picture.data[jpeg_find(&picture, 0xC0) + 2] = 12;
	fixture_init(&fixture);
	for (int round = 0; round < 2; round++)
		assert_int_equal(read_part(&picture, fixture.set, random_rect(67, 43), &image),
				 DECODE_E_UNSUPPORTED);
	assert_int_equal(fixture.account.built, 0);
	fixture_deinit(&fixture);
	free(picture.data);
}

/* A damaged file has the same result as without an index: the same condition, the same pixels. */
static void check_same_in(struct fixture *fixture, const struct picture *picture, struct rect need)
{
	struct image image;
	int r = read_part(picture, NULL, need, &image);
	uint8_t *plain = NULL;
	if (r == 0) {
		plain = calloc((size_t)image.width * image.height, 3);
		assert_non_null(plain);
		for (int32_t y = need.y; y < need.y + need.height; y++)
			memcpy(plain + ((size_t)y * image.width + need.x) * 3,
			       image.pixels + (size_t)(y - image.area.y) * image.stride +
				       (size_t)(need.x - image.area.x) * 3,
			       (size_t)need.width * 3);
	}
	for (int round = 0; round < 2; round++) {
		assert_int_equal(read_part(picture, fixture->set, need, &image), r);
		if (r == 0)
			assert_true(part_is(&image, need, plain));
	}
	assert_int_equal(fixture->account.refused[SEEK_INDEX_E_INDEX], 0);
	free(plain);
}

static void check_same(const struct picture *picture, struct rect need)
{
	struct fixture fixture;
	fixture_init(&fixture);
	check_same_in(&fixture, picture, need);
	fixture_deinit(&fixture);
}

static void test_damaged_bytes(void **state)
{
	static const uint8_t changes[] = {0x01, 0x90, 0xFF};
	const struct rect need = {9, 5, 20, 11};
	(void)state;
	for (size_t s = 2; s < 5; s++) {
		struct picture picture = make(s, 40, 21, JPEG_BASELINE);
		size_t scan = jpeg_find(&picture, 0xDA);
		for (size_t at = scan; at < picture.size; at += 2)
			for (size_t i = 0; i < sizeof(changes); i++) {
				picture.data[at] ^= changes[i];
				check_same(&picture, need);
				picture.data[at] ^= changes[i];
			}
		free(picture.data);
	}
}

static void test_cut_short(void **state)
{
	struct picture picture = make(4, 40, 21, JPEG_BASELINE);
	const size_t whole = picture.size;
	(void)state;
	for (picture.size = whole - 1; picture.size > jpeg_find(&picture, 0xDA) + 12;
	     picture.size--) {
		struct image image;
		struct fixture fixture;
		fixture_init(&fixture);
		int r = read_part(&picture, fixture.set, (struct rect){0, 0, 4, 4}, &image);
		assert_int_equal(r, DECODE_E_CORRUPT);
		assert_int_equal(fixture.account.built, 0);
		fixture_deinit(&fixture);
	}
	free(picture.data);
}

/* In whichever order parts are decoded: one that ends above the damage is decoded by the index, one
 * that does not has the same result as without an index. */
static void test_damage_below(void **state)
{
	static const struct rect parts[] = {
		{20, 10, 150, 60}, {0, 100, 200, 40}, {50, 30, 60, 70}, {0, 0, 200, 400}};
	(void)state;
	for (size_t s = 1; s < 5; s++)
		for (size_t first = 0; first < 4; first++) {
			struct picture picture = make(s, 200, 400, JPEG_BASELINE);
			struct fixture fixture;
			size_t middle = (jpeg_find(&picture, 0xDA) + picture.size) / 2;
			memcpy(picture.data + middle, "\xFF\xD3", 2);
			fixture_init(&fixture);
			for (size_t i = 0; i < 8; i++)
				check_same_in(&fixture, &picture, parts[(first + i) % 4]);
			assert_int_equal(fixture.account.refused[SEEK_INDEX_E_DAMAGED], 1);
			assert_int_equal(fixture_refused(&fixture), 1);
			assert_int_equal(fixture.account.built, first < 3);
			fixture_deinit(&fixture);
			free(picture.data);
		}
}

/* An index is extended to the rows that are needed, and no further. */
static void test_growth(void **state)
{
	(void)state;
	for (size_t s = 0; s < SAMPLINGS; s++) {
		struct picture picture = make(s, 170, 600, JPEG_BASELINE);
		uint8_t *whole = jpeg_plain(&picture);
		struct fixture fixture;
		uint32_t known = 0;
		fixture_init(&fixture);
		for (int32_t y = 0; y < 600; y += 1 + random_below(200)) {
			const uint8_t *bytes;
			struct seek_index_header header;
			size_t size;
			check_part(&picture, fixture.set, (struct rect){3, y, 100, 1}, whole);
			check_part(&picture, fixture.set, random_rect(170, y + 1), whole);
			assert_int_equal(
				seek_index_set_find(fixture.set, 0, &some_stamp, &bytes, &size),
				SEEK_INDEX_SET_INDEX);
			memcpy(&header, bytes, sizeof(header));
			assert_true(header.known >= known);
			/* The part's own rows, and at most one more below. */
			assert_in_range(header.known * 8, y / 4 + 1, y + 1 + 2 * 32);
			known = header.known;
		}
		assert_int_equal(fixture.account.built, 1);
		assert_int_equal(fixture_refused(&fixture), 0);
		fixture_deinit(&fixture);
		free(whole);
		free(picture.data);
	}
}

static void pad(struct picture *picture, size_t size)
{
	uint8_t *longer = calloc(1, size);
	assert_non_null(longer);
	memcpy(longer, picture->data, picture->size);
	free(picture->data);
	*picture = (struct picture){longer, size};
}

/* Another picture of the same width, height and size under the same stamp: its index is refused. */
static void test_another_file_under_the_stamp(void **state)
{
	(void)state;
	for (size_t s = 0; s < SAMPLINGS; s++) {
		struct picture a = make(s, 300, 90, JPEG_BASELINE);
		struct picture b = make(s, 301, 90, JPEG_BASELINE); /* of other noise */
		size_t size = a.size > b.size ? a.size : b.size;
		jpeg_claim(&b, 300, 90);
		pad(&a, size);
		pad(&b, size);
		uint8_t *whole_a = jpeg_plain(&a), *whole_b = jpeg_plain(&b);
		struct fixture fixture;
		fixture_init(&fixture);
		check_part(&a, fixture.set, (struct rect){3, 4, 200, 50}, whole_a);
		check_part(&b, fixture.set, (struct rect){20, 30, 150, 60}, whole_b);
		assert_int_equal(fixture.account.built, 1);
		assert_int_equal(fixture.account.refused[SEEK_INDEX_E_INDEX], 1);
		check_part(&b, fixture.set, (struct rect){10, 9, 70, 60}, whole_b);
		fixture_deinit(&fixture);
		free(whole_a);
		free(whole_b);
		free(a.data);
		free(b.data);
	}
}

/* An index with any byte changed: no crash, and a picture; one of another length is refused. */
static void test_changed_index(void **state)
{
	struct picture picture = make(4, 600, 50, JPEG_BASELINE);
	uint8_t *whole = jpeg_plain(&picture);
	struct fixture fixture;
	const struct rect need = {280, 9, 200, 40};
	const uint8_t *index;
	size_t size;
	(void)state;
	fixture_init(&fixture);
	check_part(&picture, fixture.set, need, whole);
	assert_int_equal(seek_index_set_find(fixture.set, 0, &some_stamp, &index, &size),
			 SEEK_INDEX_SET_INDEX);
	uint8_t *changed = malloc(size + 1);
	assert_non_null(changed);
	for (size_t at = 0; at <= size; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			struct fixture other;
			struct image image;
			memcpy(changed, index, size);
			if (at < size)
				changed[at] ^= (uint8_t)(1u << bit);
			fixture_init(&other);
			seek_index_set_put(other.set, 0, &some_stamp, changed,
					   at < size ? size : size - 1);
			assert_int_equal(read_part(&picture, other.set, need, &image), 0);
			if (at < 40 || at == size) /* the header does not fit, or the length */
				assert_true(part_is(&image, need, whole));
			fixture_deinit(&other);
		}
	free(changed);
	fixture_deinit(&fixture);
	free(whole);
	free(picture.data);
}

static void test_self_test(void **state)
{
	struct fault fault = {""};
	(void)state;
	assert_int_equal(decoder_self_test(&fault), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_sampling_and_size),
		cmocka_unit_test(test_every_place),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_twelve_bits),
		cmocka_unit_test(test_damaged_bytes),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_damage_below),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_another_file_under_the_stamp),
		cmocka_unit_test(test_changed_index),
		cmocka_unit_test(test_self_test),
	};
	if (decoder_new(&decoder) != 0)
		return 1;
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	decoder_free(decoder);
	return r;
}
