// SPDX-License-Identifier: MIT
/*
 * A decoded part of a picture equals that part of the whole, for every form that the encoders can
 * write (FAULTS 75, 76); a whole JPEG is decoded by libjpeg alone. Against Pillow:
 * test_decode_pillow.py.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "decode/decode.h"
#include "decode/exif.h"
#include "decode/foreign.h"
#include "tests/unit/pictures.h"
#include "tests/unit/test.h"

static struct decoder *decoder; /* one for all tests, as a worker uses it */

static void begin(const struct picture *picture, int32_t width, int32_t height)
{
	struct fault fault = {""};
	int32_t w = 0, h = 0;
	int r = decoder_begin(decoder, picture->data, picture->size, &DECODE_LIMITS_DEFAULT, false,
			      &w, &h, &fault);
	assert_string_equal(fault.text, "");
	assert_int_equal(r, 0);
	assert_int_equal(w, width);
	assert_int_equal(h, height);
}

/* Read `need` and compare it with the whole picture, which is packed. */
static void check_part(const uint8_t *whole, int32_t width, int32_t height, struct rect need)
{
	struct fault fault = {""};
	struct image image;
	int r = decoder_read(decoder, need, &image, &fault);
	assert_string_equal(fault.text, "");
	assert_int_equal(r, 0);
	assert_int_equal(image.width, width);
	assert_int_equal(image.height, height);
	const struct rect *area = &image.area;
	assert_true(area->x >= 0 && area->y >= 0 && area->x <= need.x && area->y <= need.y);
	assert_true(area->x + area->width >= need.x + need.width && area->x + area->width <= width);
	assert_true(area->y + area->height >= need.y + need.height &&
		    area->y + area->height <= height);
	for (int32_t y = need.y; y < need.y + need.height; y++) {
		const uint8_t *row = image.pixels + (size_t)(y - area->y) * image.stride +
				     (size_t)(need.x - area->x) * 3;
		const uint8_t *expected = whole + ((size_t)y * width + need.x) * 3;
		if (memcmp(row, expected, (size_t)need.width * 3) != 0)
			fail_msg("%dx%d, part %d,%d %dx%d: row %d differs", width, height, need.x,
				 need.y, need.width, need.height, y);
	}
	const volatile uint8_t *end = image.pixels + (size_t)area->height * image.stride;
	for (int i = 0; i < BUFFER_SLACK; i++)
		(void)end[i]; /* for the address sanitizer */
}

/* Read parts; every other one from the image begun for the part before. */
static void check_parts(const struct picture *picture, const uint8_t *whole, int32_t width,
			int32_t height, int parts)
{
	for (int i = 0; i < parts; i++) {
		if (i < 2 || i % 2 == 0)
			begin(picture, width, height);
		struct rect need =
			i ? random_rect(width, height) : (struct rect){0, 0, width, height};
		check_part(whole, width, height, need);
	}
}

static void check_jpeg(struct jpeg_recipe recipe, int parts)
{
	struct picture picture = picture_jpeg(&recipe);
	uint8_t *whole = jpeg_plain(&picture);
	check_parts(&picture, whole, recipe.width, recipe.height, parts);
	free(whole);
	free(picture.data);
}

static const struct {
	int components, h, v;
} samplings[] = {
	{1, 1, 1},  {1, 2, 2}, {3, 1, 1}, {3, 2, 1},  {3, 2, 2},  {3, 1, 2},
	{3, 4, 1},  {3, 4, 2}, {3, 1, 4}, {3, 2, 4},  {3, 3, 1},  {3, 3, 2},
	{-3, 1, 1}, {4, 1, 1}, {4, 2, 2}, {-4, 1, 1}, {-4, 2, 1},
};
#define SAMPLINGS (sizeof(samplings) / sizeof(*samplings))

static void test_jpeg_parts(void **state)
{
	static const int sizes[][2] = {{1, 1},	{7, 3},	  {8, 8},   {16, 16},  {17, 33}, {1, 70},
				       {70, 1}, {31, 47}, {64, 64}, {100, 75}, {129, 90}};
	(void)state;
	for (size_t s = 0; s < SAMPLINGS; s++)
		for (int way = 0; way < JPEG_WAYS; way++)
			for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
				check_jpeg((struct jpeg_recipe){sizes[i][0], sizes[i][1],
								samplings[s].components,
								samplings[s].h, samplings[s].v,
								(enum jpeg_way)way},
					   14);
}

/* Every position of a small part, so that each distance from an iMCU's border occurs. */
static void test_jpeg_every_place(void **state)
{
	(void)state;
	for (size_t s = 0; s < SAMPLINGS; s++) {
		struct jpeg_recipe recipe = {
			75,	      70, samplings[s].components, samplings[s].h, samplings[s].v,
			JPEG_BASELINE};
		struct picture picture = picture_jpeg(&recipe);
		uint8_t *whole = jpeg_plain(&picture);
		for (int32_t i = 0; i < 70; i++) {
			begin(&picture, 75, 70);
			check_part(whole, 75, 70, (struct rect){i, 69 - i, 1, 1});
			check_part(whole, 75, 70, (struct rect){i / 2, i, 30, 1});
			check_part(whole, 75, 70, (struct rect){i, i / 2, 5, 35});
		}
		free(whole);
		free(picture.data);
	}
}

/* FAULTS 76; and rows skipped in more than one step. */
static void test_jpeg_long(void **state)
{
	static const enum jpeg_way ways[] = {JPEG_BASELINE, JPEG_PROGRESSIVE, JPEG_RESTARTS};
	(void)state;
	for (size_t s = 0; s < SAMPLINGS; s++)
		for (size_t w = 0; w < 3; w++) {
			struct jpeg_recipe recipe = {19,
						     4133,
						     samplings[s].components,
						     samplings[s].h,
						     samplings[s].v,
						     ways[w]};
			check_jpeg(recipe, 8);
		}
	check_jpeg((struct jpeg_recipe){65500, 1, 3, 2, 2, JPEG_BASELINE}, 8);
	check_jpeg((struct jpeg_recipe){1, 65500, 3, 2, 2, JPEG_BASELINE}, 8);
	check_jpeg((struct jpeg_recipe){1, 65500, 3, 2, 2, JPEG_PROGRESSIVE}, 8);
}

/* libjpeg smooths blocks if the last scans are missing: end the file after the first scan. */
static void test_jpeg_without_its_last_scans(void **state)
{
	(void)state;
	for (size_t s = 0; s < SAMPLINGS; s++) {
		struct jpeg_recipe recipe = {129,
					     90,
					     samplings[s].components,
					     samplings[s].h,
					     samplings[s].v,
					     JPEG_PROGRESSIVE};
		struct picture picture = picture_jpeg(&recipe);
		size_t scan = jpeg_find(&picture, 0xDA);
		uint8_t *next = memmem(picture.data + scan, picture.size - scan, "\xFF\xC4", 2);
		assert_non_null(next);
		memcpy(next, "\xFF\xD9", 2);
		picture.size = (size_t)(next - picture.data) + 2;
		uint8_t *whole = jpeg_plain(&picture);
		check_parts(&picture, whole, 129, 90, 20);
		free(whole);
		free(picture.data);
	}
}

/* The reference is the whole, decoded by the same code; test_decode_pillow.py compares with Pillow.
 */
static void check_against_itself(const struct picture *picture, int32_t width, int32_t height)
{
	struct fault fault;
	struct image image;
	begin(picture, width, height);
	assert_int_equal(decoder_read(decoder, (struct rect){0, 0, width, height}, &image, &fault),
			 0);
	uint8_t *whole = malloc((size_t)width * height * 3);
	assert_non_null(whole);
	for (int32_t y = 0; y < height; y++)
		memcpy(whole + (size_t)y * width * 3, image.pixels + (size_t)y * image.stride,
		       (size_t)width * 3);
	check_parts(picture, whole, width, height, 30);
	free(whole);
}

static void test_png_parts(void **state)
{
	static const int forms[][2] = {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {2, 8}, {2, 16},
				       {3, 1}, {3, 4}, {3, 8}, {4, 8}, {4, 16}, {6, 8}, {6, 16}};
	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		for (int interlaced = 0; interlaced < 2; interlaced++) {
			struct picture picture =
				picture_png(67, 43, forms[i][0], forms[i][1], interlaced);
			check_against_itself(&picture, 67, 43);
			free(picture.data);
		}
}

static void test_webp_parts(void **state)
{
	static const int sizes[][2] = {{1, 1}, {16, 16}, {67, 43}, {130, 121}};
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (int lossless = 0; lossless < 2; lossless++) {
			struct picture picture = picture_webp(sizes[i][0], sizes[i][1], lossless);
			check_against_itself(&picture, sizes[i][0], sizes[i][1]);
			free(picture.data);
		}
}

/* libjpeg keeps tables from one picture to the next: a file without tables must not be decoded with
 * those of the file before. */
static void test_no_trace_of_the_picture_before(void **state)
{
	struct jpeg_recipe recipe = {40, 30, 3, 1, 1, JPEG_BASELINE};
	struct picture good = picture_jpeg(&recipe), bare = picture_jpeg(&recipe);
	uint8_t *whole = jpeg_plain(&good);
	(void)state;
	size_t at = jpeg_find(&bare, 0xDB) - 2;
	size_t length = 2 + (size_t)(bare.data[at + 2] << 8 | bare.data[at + 3]);
	memmove(bare.data + at, bare.data + at + length, bare.size - at - length);
	bare.size -= length;
	for (int i = 0; i < 3; i++) {
		struct fault fault = {""};
		struct image image;
		int32_t width, height;
		begin(&good, 40, 30);
		check_part(whole, 40, 30, (struct rect){3, 4, 30, 20});
		int r = decoder_begin(decoder, bare.data, bare.size, &DECODE_LIMITS_DEFAULT, false,
				      &width, &height, &fault);
		if (r == 0)
			r = decoder_read(decoder, (struct rect){0, 0, 40, 30}, &image, &fault);
		assert_int_equal(r, DECODE_E_CORRUPT);
		assert_non_null(strstr(fault.text, "uantization table"));
	}
	free(whole);
	free(good.data);
	free(bare.data);
}

static void test_read_without_begin(void **state)
{
	struct fault fault;
	struct image image;
	int32_t width, height;
	(void)state;
	assert_int_equal(decoder_begin(decoder, (const uint8_t *)"<svg x", 6,
				       &DECODE_LIMITS_DEFAULT, false, &width, &height, &fault),
			 DECODE_E_FORMAT);
	assert_non_null(strstr(fault.text, "is SVG, which stoker does not decode: convert it to "));
	assert_int_equal(decoder_read(decoder, (struct rect){0, 0, 1, 1}, &image, &fault), -EINVAL);
	decoder_free(NULL);
}

static void test_formats_that_are_not_decoded(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *name;
	} files[] = {
		{"\0\0\0\x18"
		 "ftypheic\0\0\0\0mif1heic",
		 24, "HEIC"},
		{"\0\0\0\x14"
		 "ftypheix\0\0\0\0mif1",
		 20, "HEIC"},
		{"\0\0\0\x14"
		 "ftyphevc\0\0\0\0",
		 16, "HEIC"},
		{"\0\0\0\x1c"
		 "ftypmif1\0\0\0\0mif1miafheic",
		 28, "HEIC"},
		{"\0\0\0\x1c"
		 "ftypmif1\0\0\0\0mif1avifmiaf",
		 28, "AVIF"},
		{"\0\0\0\x14"
		 "ftypmif1\0\0\0\0mif1avif",
		 24, "HEIF"}, /* behind the box */
		{"\0\0\0\x14"
		 "ftypmif1avifmif1",
		 20, "HEIF"}, /* the version */
		{"\0\0\0\x14"
		 "ftypmsf1\0\0",
		 14, "HEIF"},
		{"\0\0\0\x1c"
		 "ftypavif\0\0\0\0avifmif1miaf",
		 28, "AVIF"},
		{"\0\0\0\x18"
		 "ftypavis\0\0\0\0",
		 16, "AVIF"},
		{"\xff\x0a\0", 3, "JPEG XL"},
		{"MM\0*\0\0", 6, "TIFF"},
		{"<svg xmlns=", 11, "SVG"},
		{"\0\0\0\x18"
		 "ftypisom\0\0\0\0",
		 16, NULL},
		{"\0\0\0\x18"
		 "ftyphei",
		 11, NULL},
		{"\0\0\0\0ftyp", 8, NULL},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		uint8_t *copy = malloc(files[i].size); /* so that a read behind it is found */
		assert_non_null(copy);
		memcpy(copy, files[i].bytes, files[i].size);
		const char *name = foreign_name(copy, files[i].size);
		free(copy);
		if (files[i].name)
			assert_string_equal(name ? name : "none", files[i].name);
		else
			assert_null(name);
	}
}

/* Every byte of a small TIFF changed in every way: never a wild read, always 1 to 8. */
static void test_exif_changed_bytes(void **state)
{
	static const uint8_t tiff[] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 2, 1, 0x0F,
				       0,   2,	 0, 0,	0, 5, 0, 0, 0, 4, 1, 0x12,
				       0,   3,	 0, 0,	0, 1, 0, 6, 0, 0};
	(void)state;
	const struct metadata whole = {.exif = tiff, .exif_size = sizeof(tiff)};
	assert_int_equal(metadata_orientation(&whole), 6);
	for (size_t size = 0; size <= sizeof(tiff); size++)
		for (size_t at = 0; at < size; at++)
			for (unsigned value = 0; value < 256; value++) {
				uint8_t *copy = malloc(
					size); /* of the exact size: asan finds a read beyond it */
				assert_non_null(copy);
				memcpy(copy, tiff, size);
				copy[at] = (uint8_t)value;
				const struct metadata part = {copy, size, copy, size};
				assert_in_range(metadata_orientation(&part), 1, 8);
				free(copy);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jpeg_parts),
		cmocka_unit_test(test_jpeg_every_place),
		cmocka_unit_test(test_jpeg_long),
		cmocka_unit_test(test_jpeg_without_its_last_scans),
		cmocka_unit_test(test_png_parts),
		cmocka_unit_test(test_webp_parts),
		cmocka_unit_test(test_no_trace_of_the_picture_before),
		cmocka_unit_test(test_read_without_begin),
		cmocka_unit_test(test_formats_that_are_not_decoded),
		cmocka_unit_test(test_exif_changed_bytes),
	};
	if (decoder_new(&decoder) != 0)
		return 1;
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	decoder_free(decoder);
	return r;
}
