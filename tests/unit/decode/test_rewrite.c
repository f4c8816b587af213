// SPDX-License-Identifier: MIT
/*
 * JPEGs that can have no seek index, written again: every part has the pixels that libjpeg finds in
 * the file as it was, at every scale, and what would look different is left.
 */
#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"
#include "decode/jpeg/seek_index_set.h"
#include "tests/unit/pictures.h"
#include "tests/unit/test.h"

#define PARTS 12

struct fixture {
	struct decoder *decoder;
	struct seek_index_budget account;
	struct seek_index_set *set;
	struct buffer rewritten;
	uint64_t sample;
	struct fault fault;
	int32_t width, height;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	assert_non_null(fixture);
	fixture->account.limit = 64 << 20;
	assert_int_equal(decoder_new(&fixture->decoder), 0);
	assert_int_equal(seek_index_set_new(&fixture->set, &fixture->account, NULL, 1000), 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	decoder_free(fixture->decoder);
	seek_index_set_free(fixture->set);
	buffer_deinit(&fixture->rewritten);
	free(fixture);
	return 0;
}

static int begin(struct fixture *fixture, const uint8_t *data, size_t size, bool exif)
{
	return decoder_begin(fixture->decoder, data, size, &DECODE_LIMITS_DEFAULT, exif,
			     &fixture->width, &fixture->height, &fixture->fault);
}

/* Begin the file and write it again: decoder_rewrite()'s result. */
static int rewrite(struct fixture *fixture, const struct picture *picture, bool exif)
{
	assert_int_equal(begin(fixture, picture->data, picture->size, exif), 0);
	assert_true(decoder_can_rewrite(fixture->decoder));
	int r = decoder_rewrite(fixture->decoder, &fixture->rewritten, &fixture->fault);
	decoder_end(fixture->decoder);
	return r;
}

static void begin_rewritten(struct fixture *fixture, bool exif)
{
	const struct buffer *bytes = &fixture->rewritten;
	const struct decode_origin origin = {fixture->set, fixture->sample, {bytes->size, 1}};
	assert_int_equal(begin(fixture, bytes->data, bytes->size, exif), 0);
	assert_false(decoder_can_rewrite(fixture->decoder));
	decoder_set_origin(fixture->decoder, &origin);
}

static uint8_t *pixels_of(struct fixture *fixture, struct rect part)
{
	struct image image;
	assert_int_equal(decoder_read(fixture->decoder, part, &image, &fixture->fault), 0);
	size_t row = 3 * (size_t)part.width;
	uint8_t *out = malloc(row * (size_t)part.height);
	assert_non_null(out);
	for (int32_t y = 0; y < part.height; y++)
		memcpy(out + (size_t)y * row,
		       image.pixels + (size_t)(part.y + y - image.area.y) * image.stride +
			       3 * (size_t)(part.x - image.area.x),
		       row);
	return out;
}

static void assert_part(struct fixture *fixture, struct rect part, const uint8_t *whole)
{
	uint8_t *got = pixels_of(fixture, part);
	size_t row = 3 * (size_t)part.width, stride = 3 * (size_t)fixture->width;
	for (int32_t y = 0; y < part.height; y++)
		assert_memory_equal(got + (size_t)y * row,
				    whole + (size_t)(part.y + y) * stride + 3 * (size_t)part.x,
				    row);
	free(got);
}

static void assert_scales(struct fixture *fixture, const struct picture *picture)
{
	for (unsigned scale = 2; scale <= 8; scale *= 2) {
		assert_int_equal(begin(fixture, picture->data, picture->size, false), 0);
		struct rect part = {0, 0, (fixture->width + (int32_t)scale - 1) / (int32_t)scale,
				    (fixture->height + (int32_t)scale - 1) / (int32_t)scale};
		decoder_set_scale(fixture->decoder, scale);
		uint8_t *wanted = pixels_of(fixture, part);
		begin_rewritten(fixture, false);
		decoder_set_scale(fixture->decoder, scale);
		uint8_t *got = pixels_of(fixture, part);
		assert_memory_equal(got, wanted, 3 * (size_t)part.width * (size_t)part.height);
		free(got);
		free(wanted);
	}
}

static void check(struct fixture *fixture, const struct jpeg_recipe *recipe)
{
	struct picture picture = picture_jpeg(recipe);
	uint8_t *wanted = jpeg_plain(&picture);
	fixture->sample++;
	assert_int_equal(rewrite(fixture, &picture, false), 0);
	begin_rewritten(fixture, false);
	assert_part(fixture, (struct rect){0, 0, recipe->width, recipe->height}, wanted);
	for (unsigned i = 0; i < PARTS; i++)
		assert_part(fixture, random_rect(recipe->width, recipe->height), wanted);
	decoder_end(fixture->decoder);
	assert_scales(fixture, &picture);
	free(wanted);
	free(picture.data);
}

/* Every way, colour, sampling, and sizes that are no multiple of a block. */
static void test_pixels_stay(void **state)
{
	static const int colours[] = {1, 3, 4, -3, -4};
	static const int sampling[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}};
	static const int sizes[][2] = {{1, 1}, {17, 9}, {64, 64}, {131, 77}};
	struct fixture *fixture = *state;
	for (unsigned i = 0; i < 5 * 4 * 4 * JPEG_WAYS; i++) {
		const int *size = sizes[i % 4], *factors = sampling[i / 4 % 4];
		struct jpeg_recipe recipe = {size[0],	 size[1],    colours[i / 16 % 5],
					     factors[0], factors[1], (enum jpeg_way)(i / 80)};
		/* A picture of one component is one scan, in either way. */
		if (recipe.way == JPEG_BASELINE ||
		    (recipe.way == JPEG_SEPARATE && recipe.components == 1))
			continue;
		check(fixture, &recipe);
	}
	assert_true(fixture->account.built > 0 && fixture->account.used > 0);
}

static void test_others_have_no_need(void **state)
{
	struct fixture *fixture = *state;
	struct picture pictures[] = {
		picture_jpeg(&(struct jpeg_recipe){40, 30, 3, 2, 2, JPEG_BASELINE}),
		picture_png(40, 30, 2, 8, false), picture_webp(40, 30, true)};
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(begin(fixture, pictures[i].data, pictures[i].size, false), 0);
		assert_false(decoder_can_rewrite(fixture->decoder));
		assert_true(decoder_rewrite(fixture->decoder, &fixture->rewritten,
					    &fixture->fault) < 0);
		decoder_end(fixture->decoder);
		free(pictures[i].data);
	}
}

/* A progressive file that lacks scans is smoothed, and a damaged one is libjpeg's to judge. */
static void test_incomplete_ones_are_left(void **state)
{
	struct fixture *fixture = *state;
	struct picture picture =
		picture_jpeg(&(struct jpeg_recipe){120, 90, 3, 2, 2, JPEG_PROGRESSIVE});
	unsigned scans = 0, left = 0;
	size_t whole = picture.size;
	for (size_t at = jpeg_find(&picture, 0xDA); at + 2 < whole; at++) {
		if (picture.data[at] != 0xFF || picture.data[at + 1] != 0xDA)
			continue;
		/* All up to this scan, and an end marker. */
		struct picture cut = {malloc(at + 2), at + 2};
		assert_non_null(cut.data);
		memcpy(cut.data, picture.data, at);
		memcpy(cut.data + at, "\xFF\xD9", 2);
		scans++;
		left += rewrite(fixture, &cut, false) == DECODE_E_CORRUPT;
		free(cut.data);
	}
	assert_true(scans > 4);
	assert_int_equal(left, scans);
	assert_int_equal(rewrite(fixture, &picture, false), 0);
	picture.size -= 2; /* no end marker */
	assert_int_equal(rewrite(fixture, &picture, false), DECODE_E_CORRUPT);
	picture.size = picture.size * 2 / 3;
	assert_int_equal(rewrite(fixture, &picture, false), DECODE_E_CORRUPT);
	free(picture.data);
}

static void test_flipped_bits(void **state)
{
	struct fixture *fixture = *state;
	unsigned written = 0;
	for (unsigned i = 0; i < 600; i++) {
		struct picture picture = picture_jpeg(&(struct jpeg_recipe){
			61, 45, 3, 2, 1, (enum jpeg_way)(1 + i % (JPEG_WAYS - 1))});
		size_t scan = jpeg_find(&picture, 0xDA) + 8;
		size_t at = scan + (size_t)random_below((int32_t)(picture.size - 2 - scan));
		picture.data[at] ^= (uint8_t)(1 << random_below(8));
		fixture->sample++;
		if (begin(fixture, picture.data, picture.size, false) == 0 &&
		    rewrite(fixture, &picture, false) == 0) {
			uint8_t *wanted = jpeg_plain(&picture);
			written++;
			begin_rewritten(fixture, false);
			assert_part(fixture, (struct rect){0, 0, 61, 45}, wanted);
			free(wanted);
		}
		decoder_end(fixture->decoder);
		free(picture.data);
	}
	assert_true(written > 20 && written < 580);
}

/* The orientation, and nothing else of EXIF. */
static void test_it_stays_turned(void **state)
{
	struct fixture *fixture = *state;
	struct picture picture =
		picture_jpeg(&(struct jpeg_recipe){50, 20, 3, 1, 1, JPEG_PROGRESSIVE});
	static const char exif[] = "\xFF\xE1\x13\x88"
				   "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\6\0";
	struct picture turned = {calloc(1, picture.size + 5002), picture.size + 5002};
	assert_non_null(turned.data);
	memcpy(turned.data, picture.data, 2);
	memcpy(turned.data + 2, exif, sizeof(exif));
	memcpy(turned.data + 5004, picture.data + 2, picture.size - 2);
	for (int applied = 0; applied < 2; applied++) {
		assert_int_equal(rewrite(fixture, &turned, applied), 0);
		assert_true(fixture->rewritten.size < picture.size + 1000);
		assert_int_equal(begin(fixture, turned.data, turned.size, applied), 0);
		struct rect whole = {0, 0, fixture->width, fixture->height};
		assert_int_equal(whole.width, applied ? 20 : 50);
		uint8_t *wanted = pixels_of(fixture, whole);
		fixture->sample++;
		begin_rewritten(fixture, applied);
		assert_part(fixture, whole, wanted);
		decoder_end(fixture->decoder);
		free(wanted);
	}
	free(turned.data);
	free(picture.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pixels_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others_have_no_need, setup, teardown),
		cmocka_unit_test_setup_teardown(test_incomplete_ones_are_left, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flipped_bits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_it_stays_turned, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
