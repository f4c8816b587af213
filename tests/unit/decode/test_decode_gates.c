// SPDX-License-Identifier: MIT
/*
 * Hostile pictures: each is refused by the limit that is meant for it, before the work that the
 * limit guards (FAULTS 72, 73, 74, 76), and none does any other harm.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "decode/decode.h"
#include "tests/unit/pictures.h"
#include "tests/unit/test.h"

/* The aim is 50 ms; the bound is generous, for sanitizers and busy machines. */
#define GATE_NS ((uint64_t)1000000000)

static struct decoder *decoder;
static struct fault fault;

/* Begin and, if that succeeds, read the whole. */
static int decode(const uint8_t *data, size_t size, const struct decode_limits *limits)
{
	struct image image;
	int32_t width, height;
	fault.text[0] = '\0';
	int r = decoder_begin(decoder, data, size, limits, true, &width, &height, &fault);
	if (r == 0)
		r = decoder_read(decoder, (struct rect){0, 0, width, height}, &image, &fault);
	return r;
}

static void check_gate(const struct picture *picture, const struct decode_limits *limits,
		       const char *words)
{
	uint64_t start = clock_thread_ns();
	assert_int_equal(decode(picture->data, picture->size, limits), DECODE_E_LIMIT);
	if (!strstr(fault.text, words))
		fail_msg("\"%s\" does not say \"%s\"", fault.text, words);
	assert_true(clock_thread_ns() - start < GATE_NS);
}

static const struct jpeg_recipe small_baseline = {40, 33, 3, 2, 2, JPEG_BASELINE};
static const struct jpeg_recipe small_progressive = {40, 33, 3, 2, 2, JPEG_PROGRESSIVE};

static void test_pixels(void **state)
{
	const struct decode_limits limits = DECODE_LIMITS_DEFAULT;
	struct picture baseline = picture_jpeg(&small_baseline);
	struct picture progressive = picture_jpeg(&small_progressive);
	(void)state;
	jpeg_claim(&baseline, 65500, 65500);
	check_gate(&baseline, &limits,
		   "65500x65500 = 4,290,250,000 pixels, the limit is 178,956,970");
	jpeg_claim(&progressive, 20000, 20000);
	check_gate(&progressive, &limits, "20000x20000 = 400,000,000 pixels");
	free(baseline.data);
	free(progressive.data);

	/* The limit itself is allowed. */
	struct picture picture = picture_webp(30, 20, false);
	struct decode_limits exact = limits;
	exact.max_pixels = 600;
	assert_int_equal(decode(picture.data, picture.size, &exact), 0);
	exact.max_pixels = 599;
	check_gate(&picture, &exact, "30x20 = 600 pixels, the limit is 599");
	free(picture.data);
}

static void test_coefficients(void **state)
{
	struct decode_limits limits = DECODE_LIMITS_DEFAULT;
	struct picture picture = picture_jpeg(&small_progressive);
	(void)state;
	limits.max_pixels = (uint64_t)1 << 40;
	jpeg_claim(&picture, 20000, 20000);
	check_gate(&picture, &limits, "coefficients, the limit is 536,870,912");
	jpeg_claim(&picture, 40, 33);
	/* 3x3 MCUs of 4 + 1 + 1 blocks of 128 bytes */
	limits.max_coefficient_bytes = 9 * 6 * 128;
	assert_int_equal(decode(picture.data, picture.size, &limits), 0);
	limits.max_coefficient_bytes--;
	check_gate(&picture, &limits, "needs 6,912 bytes of coefficients, the limit is 6,911");
	free(picture.data);
}

/* A progressive file whose last scan comes `times` times. */
static struct picture scan_bomb(int width, int height, size_t times)
{
	struct jpeg_recipe recipe = {width, height, 1, 1, 1, JPEG_PROGRESSIVE};
	struct picture picture = picture_jpeg(&recipe);
	size_t last = 0;
	for (size_t at = 0; at + 1 < picture.size; at++)
		if (picture.data[at] == 0xFF && picture.data[at + 1] == 0xDA)
			last = at;
	size_t length = picture.size - 2 - last;
	uint8_t *data = malloc(picture.size + times * length);
	assert_non_null(data);
	memcpy(data, picture.data, last);
	for (size_t i = 0; i < times; i++)
		memcpy(data + last + i * length, picture.data + last, length);
	memcpy(data + last + times * length, "\xFF\xD9", 2);
	free(picture.data);
	return (struct picture){data, last + times * length + 2};
}

static void test_scans(void **state)
{
	const struct decode_limits limits = DECODE_LIMITS_DEFAULT;
	struct picture bomb = scan_bomb(1000, 1000, 500), few = scan_bomb(64, 64, 50);
	(void)state;
	check_gate(&bomb, &limits, "more than 100 scans");
	assert_int_equal(decode(few.data, few.size, &limits), 0);
	free(bomb.data);
	free(few.data);
}

static void test_time(void **state)
{
	struct decode_limits limits = DECODE_LIMITS_DEFAULT;
	struct jpeg_recipe recipe = {30, 65500, 3, 2, 2, JPEG_BASELINE};
	struct picture pictures[] = {scan_bomb(1500, 1500, 40), picture_jpeg(&recipe),
				     picture_png(3000, 3000, 2, 8, false)};
	(void)state;
	limits.deadline_ms = 1;
	for (size_t i = 0; i < 3; i++) {
		check_gate(&pictures[i], &limits, "CPU time, the limit is 1 ms");
		free(pictures[i].data);
	}
}

/* Skipped rows cost time, too. */
static void test_time_of_skipped_rows(void **state)
{
	struct decode_limits limits = DECODE_LIMITS_DEFAULT;
	struct jpeg_recipe recipe = {200, 30000, 3, 1, 1, JPEG_BASELINE};
	struct picture picture = picture_jpeg(&recipe);
	struct image image;
	int32_t width, height;
	(void)state;
	limits.deadline_ms = 1;
	assert_int_equal(decoder_begin(decoder, picture.data, picture.size, &limits, false, &width,
				       &height, &fault),
			 0);
	assert_int_equal(decoder_read(decoder, (struct rect){0, height - 1, 1, 1}, &image, &fault),
			 DECODE_E_LIMIT);
	free(picture.data);
}

static uint32_t crc32_of(const uint8_t *data, size_t size)
{
	uint32_t crc = 0xFFFFFFFFu;
	for (size_t i = 0; i < size; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
	}
	return ~crc;
}

static void store_u32(uint8_t *to, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void png_claim(struct picture *picture, uint32_t width, uint32_t height)
{
	store_u32(picture->data + 16, width);
	store_u32(picture->data + 20, height);
	store_u32(picture->data + 29, crc32_of(picture->data + 12, 17));
}

static void test_png_sizes(void **state)
{
	struct decode_limits limits = DECODE_LIMITS_DEFAULT;
	struct picture picture = picture_png(20, 20, 6, 16, false);
	(void)state;
	png_claim(&picture, 100000000, 1);
	check_gate(&picture, &limits, "a row of 800,000,000 bytes");
	png_claim(&picture, 0x7FFFFFFF, 0x7FFFFFFF);
	check_gate(&picture, &limits, "2147483647x2147483647 = 4,611,686,014,132,420,609 pixels");
	png_claim(&picture, 20, 21); /* more than there is */
	assert_int_equal(decode(picture.data, picture.size, &limits), DECODE_E_CORRUPT);
	png_claim(&picture, 20, 20);
	assert_int_equal(decode(picture.data, picture.size, &limits), 0);
	free(picture.data);
}

static void test_webp_size(void **state)
{
	const struct decode_limits limits = DECODE_LIMITS_DEFAULT;
	struct picture picture = picture_webp(20, 20, true);
	(void)state;
	memset(picture.data + 21, 0xFF, 3); /* 14 bits of width - 1, 14 bits of height - 1 */
	picture.data[24] |= 0x0F;
	check_gate(&picture, &limits, "16384x16384 = 268,435,456 pixels");
	free(picture.data);
}

static void check_named(int r)
{
	assert_in_range(r, 0, DECODE_E_UNSUPPORTED);
	assert_int_equal(r != 0, fault.text[0] != '\0');
}

/* From an exact copy, so that the address sanitizer sees a read beyond the end. */
static void decode_copy(const uint8_t *data, size_t size, size_t flip, uint8_t mask)
{
	static const struct decode_limits limits = {1 << 20, 1 << 22, 20, 0};
	uint8_t *copy = malloc(size ? size : 1);
	assert_non_null(copy);
	memcpy(copy, data, size);
	if (flip < size)
		copy[flip] ^= mask;
	check_named(decode(copy, size, &limits));
	free(copy);
}

/* FAULTS 72 and 73 on small seeds of every format: cut at every byte, and every byte changed. */
static void check_damaged(struct picture picture)
{
	for (size_t size = 0; size <= picture.size; size++)
		decode_copy(picture.data, size, SIZE_MAX, 0);
	for (size_t at = 0; at < picture.size; at++) {
		decode_copy(picture.data, picture.size, at, 0xFF);
		decode_copy(picture.data, picture.size, at, (uint8_t)(1 << at % 8));
	}
	free(picture.data);
}

static void test_damaged_jpeg(void **state)
{
	static const int components[] = {1, 3, 4};
	(void)state;
	for (int i = 0; i < 3; i++)
		for (int way = 0; way < JPEG_WAYS; way++) {
			struct jpeg_recipe recipe = {19,	17,	   components[i],
						     i ? 2 : 1, i ? 2 : 1, (enum jpeg_way)way};
			check_damaged(picture_jpeg(&recipe));
		}
}

static void test_damaged_png(void **state)
{
	(void)state;
	check_damaged(picture_png(19, 17, 0, 1, true));
	check_damaged(picture_png(19, 17, 2, 8, false));
	check_damaged(picture_png(19, 17, 3, 4, true));
	check_damaged(picture_png(9, 7, 6, 16, true));
}

static void test_damaged_webp(void **state)
{
	(void)state;
	check_damaged(picture_webp(19, 17, false));
	check_damaged(picture_webp(19, 17, true));
}

/* After all that: the decoder still decodes. */
static void test_the_next_picture(void **state)
{
	struct picture picture = picture_jpeg(&small_baseline);
	const struct decode_limits limits = DECODE_LIMITS_DEFAULT;
	(void)state;
	assert_int_equal(decode(picture.data, picture.size, &limits), 0);
	free(picture.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pixels),
		cmocka_unit_test(test_coefficients),
		cmocka_unit_test(test_scans),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_time_of_skipped_rows),
		cmocka_unit_test(test_png_sizes),
		cmocka_unit_test(test_webp_size),
		cmocka_unit_test(test_damaged_jpeg),
		cmocka_unit_test(test_damaged_png),
		cmocka_unit_test(test_damaged_webp),
		cmocka_unit_test(test_the_next_picture),
	};
	if (decoder_new(&decoder) != 0)
		return 1;
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	decoder_free(decoder);
	return r;
}
