// SPDX-License-Identifier: MIT
/*
 * The memory of the decoder that uses indexes: none is taken for a file that it has an index of,
 * and every allocation may fail; then a picture is decoded in the ordinary way, or not, but never
 * to other pixels. Linked with --wrap for calloc and aligned_alloc, the two ways in which it
 * allocates.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"
#include "decode/jpeg/seek_index_set.h"
#include "tests/unit/pictures.h"
#include "tests/unit/shortage.h"

#define WIDTH 300
#define HEIGHT 200

static struct picture picture;
static uint8_t *whole;

static int visit(struct decoder *decoder, struct seek_index_set *seek_indexes, struct rect need)
{
	const struct decode_origin origin = {seek_indexes, 0, {picture.size, 1, 2}};
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
	struct seek_index_account account = {.limit = 1 << 20};
	struct seek_index_set *seek_indexes;
	struct decoder *decoder;
	(void)state;
	assert_int_equal(seek_index_set_new(&seek_indexes, &account, 1), 0);
	assert_int_equal(decoder_new(&decoder), 0);
	assert_int_equal(visit(decoder, seek_indexes, (struct rect){0, 0, WIDTH, HEIGHT}), 0);
	unsigned before = allocations;
	for (int i = 0; i < 5; i++)
		assert_int_equal(visit(decoder, seek_indexes, part), 0);
	assert_int_equal(allocations, before);
	assert_int_equal(account.used, 5);
	decoder_free(decoder);
	seek_index_set_free(seek_indexes);
}

/* Three visits, with one allocation that fails. 0 or -ENOMEM of what had to be there. */
static int run(struct seek_index_account *account)
{
	struct seek_index_set *seek_indexes;
	struct decoder *decoder;
	int r = seek_index_set_new(&seek_indexes, account, 1);
	if (r)
		return r;
	r = decoder_new(&decoder);
	if (r) {
		seek_index_set_free(seek_indexes);
		return r;
	}
	for (int i = 0; i < 3; i++) {
		int condition = visit(decoder, seek_indexes, part);
		assert_true(condition == 0 || condition == -ENOMEM);
	}
	decoder_free(decoder);
	seek_index_set_free(seek_indexes);
	assert_int_equal(account->bytes, 0);
	return r;
}

static void test_every_allocation_fails(void **state)
{
	unsigned failures = 0;
	(void)state;
	for (fail_at = 1;; fail_at++) {
		struct seek_index_account account = {.limit = 1 << 20};
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
