// SPDX-License-Identifier: MIT
/*
 * Memory of decoding by the seek index: a file with an index is decoded without an allocation; and
 * whichever allocation fails, a picture is decoded by libjpeg alone or not at all, but never to
 * other pixels. Linked with --wrap for calloc and aligned_alloc, the two functions that allocate
 * here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"
#include "decode/jpeg/seek_index_set.h"
#include "tests/unit/pictures.h"
#include "tests/unit/shortage.h"
#include "tests/unit/test.h"

#define WIDTH 300
#define HEIGHT 200

static struct picture picture;
static uint8_t *whole;

static int decode_part(struct decoder *decoder, struct seek_index_set *set, struct rect need)
{
	const struct decode_origin origin = {set, 0, {picture.size, 1}};
	struct fault fault;
	struct image image;
	int32_t width, height;
	int r = decoder_begin(decoder, picture.data, picture.size, &DECODE_LIMITS_DEFAULT, false,
			      &width, &height, &fault);
	if (r)
		return r;
	decoder_set_origin(decoder, &origin);
	r = decoder_read(decoder, need, &image, &fault);
	for (int32_t y = need.y; r == 0 && y < need.y + need.height; y++)
		assert_memory_equal(image.pixels + (size_t)(y - image.area.y) * image.stride +
					    (size_t)(need.x - image.area.x) * 3,
				    whole + ((size_t)y * WIDTH + need.x) * 3,
				    (size_t)need.width * 3);
	return r;
}

static const struct rect part = {31, 17, 200, 150};

static void test_none_for_a_file_with_an_index(void **state)
{
	struct seek_index_budget account = {.limit = 1 << 20};
	struct seek_index_set *set;
	struct decoder *decoder;
	(void)state;
	assert_int_equal(seek_index_set_new(&set, &account, NULL, 1), 0);
	assert_int_equal(decoder_new(&decoder), 0);
	assert_int_equal(decode_part(decoder, set, (struct rect){0, 0, WIDTH, HEIGHT}), 0);
	unsigned before = allocations;
	for (int i = 0; i < 5; i++)
		assert_int_equal(decode_part(decoder, set, part), 0);
	assert_int_equal(allocations, before);
	assert_int_equal(account.used, 5);
	decoder_free(decoder);
	seek_index_set_free(set);
}

/* Decode three times, with one allocation that fails. -ENOMEM if the set or the decoder could not
 * be made, else 0. */
static int run(struct seek_index_budget *account)
{
	struct seek_index_set *set;
	struct decoder *decoder;
	int r = seek_index_set_new(&set, account, NULL, 1);
	if (r)
		return r;
	r = decoder_new(&decoder);
	if (r) {
		seek_index_set_free(set);
		return r;
	}
	for (int i = 0; i < 3; i++) {
		int condition = decode_part(decoder, set, part);
		assert_true(condition == 0 || condition == -ENOMEM);
	}
	decoder_free(decoder);
	seek_index_set_free(set);
	assert_int_equal(account->bytes, 0);
	return r;
}

static void test_every_allocation_fails(void **state)
{
	unsigned failures = 0;
	(void)state;
	for (fail_at = 1;; fail_at++) {
		struct seek_index_budget account = {.limit = 1 << 20};
		allocations = 0;
		int r = run(&account);
		assert_true(r == 0 || r == -ENOMEM);
		if (allocations < fail_at)
			break;
		failures++;
	}
	fail_at = 0;
	assert_in_range(failures, 8, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none_for_a_file_with_an_index),
		cmocka_unit_test(test_every_allocation_fails),
	};
	picture = picture_jpeg(&(struct jpeg_recipe){WIDTH, HEIGHT, 3, 2, 2, JPEG_BASELINE});
	whole = jpeg_plain(&picture);
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	free(whole);
	free(picture.data);
	return r;
}
