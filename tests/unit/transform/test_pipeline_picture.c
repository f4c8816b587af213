// SPDX-License-Identifier: MIT
/*
 * One picture through the pipeline: the part that is needed of it, and extreme pictures and lists.
 * test_pipeline_pillow.py compares the bytes with Pillow's. FAULTS 76, 78.
 */
#include "base/buffer.h"
#include "base/cancel.h"
#include "tests/unit/list.h"

/* Draw and apply, with only the needed part in memory. 0, or the condition. */
static int make(const struct value *list, int32_t width, int32_t height, uint64_t position,
		struct fault *fault)
{
	const struct draw_key key = {1, 2, position};
	struct pipeline *pipeline = made(list, "uint8", "NHWC");
	struct pipeline_scratch *scratch = NULL;
	struct rect need;
	assert_int_equal(pipeline_scratch_new(&scratch), 0);
	int r = pipeline_draw(pipeline, &key, width, height, scratch, &need, fault);
	if (r == 0) {
		assert_true(need.x >= 0 && need.y >= 0 && need.width > 0 && need.height > 0);
		assert_true(need.width <= width - need.x && need.height <= height - need.y);
		size_t stride = 3 * (size_t)need.width;
		uint8_t *pixels = calloc(1, (size_t)need.height * stride + BUFFER_SLACK);
		uint8_t *out = malloc(pipeline_output(pipeline).bytes);
		assert_true(pixels && out);
		const struct image image = {pixels, stride, width, height, need};
		assert_int_equal(pipeline_apply(pipeline, &image, NULL, scratch, out, NULL), 0);
		free(pixels);
		free(out);
	}
	pipeline_scratch_free(scratch);
	pipeline_free(pipeline);
	return r;
}

static void test_extreme_pictures(void **state)
{
	static const int32_t sizes[][2] = {{1, 1},	   {1, 65500}, {65500, 1},
					   {65500, 65500}, {2, 65500}, {65500, 3}};
	const struct value lists[] = {
		LIST(NAMED("Resize", KEY("size", UINT(2048))),
		     NAMED("CenterCrop", KEY("size", UINT(4)))),
		LIST(NAMED("CenterCrop", KEY("size", UINT(300)))),
		LIST(NAMED("RandomCrop", KEY("size", UINT(9)), KEY("pad_if_needed", BOOLEAN(true)),
			   KEY("padding", UINT(16384)), KEY("padding_mode", TEXT("reflect")))),
		LIST(NAMED("Resize", KEY("size", UINT(16384)),
			   KEY("interpolation", TEXT("nearest"))),
		     CROP),
	};
	struct fault fault;
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (size_t n = 0; n < sizeof(lists) / sizeof(*lists); n++) {
			/* The longer edge of a thin one would be above 2^24. */
			bool long_edge = (n == 0 || n == 3) && sizes[i][0] != sizes[i][1];
			int r = make(&lists[n], sizes[i][0], sizes[i][1], 3, &fault);
			assert_int_equal(r, long_edge ? PIPELINE_E_IMAGE : 0);
		}
	}
}

static void check_image_refused(const struct value list, int32_t width, int32_t height,
				const char *words)
{
	struct fault fault = {""};
	assert_int_equal(make(&list, width, height, 0, &fault), PIPELINE_E_IMAGE);
	if (!strstr(fault.text, words))
		assert_string_equal(fault.text, words);
}

static void test_pictures_that_cannot_be_taken(void **state)
{
	(void)state;
	check_image_refused((struct value)LIST(NAMED("RandomCrop", KEY("size", UINT(32)))), 31, 40,
			    "RandomCrop of 32 x 32 (width x height) is larger than the picture, "
			    "31 x 40");
	check_image_refused(
		(struct value)LIST(NAMED("Resize", KEY("size", UINT(4)), KEY("max_size", UINT(5))),
				   CROP),
		1, 60000, "an edge would be 0");
	/* Memory for intermediate results is bounded, of a picture and of the lines of a resize. */
	check_image_refused(
		(struct value)LIST(NAMED("Resize", KEY("size", LIST(UINT(16384), UINT(16384)))),
				   NAMED("Resize", KEY("size", LIST(UINT(4), UINT(4))))),
		100, 100, "too much memory");
	check_image_refused(
		(struct value)LIST(NAMED("Resize", KEY("size", LIST(UINT(1), UINT(16384))))), 3,
		65500, "too much memory");
}

/* A list without a size of its own is settled with the dataset's: a sample of another one would be
 * written past the end of its slot. */
static void test_sample_of_another_size(void **state)
{
	const struct value nothing = LIST_OF(NULL, 0);
	const struct draw_key key = {1, 2, 3};
	struct pipeline *pipeline = NULL;
	struct pipeline_scratch *scratch = NULL;
	struct rect need;
	struct fault fault = {""};
	(void)state;
	assert_int_equal(
		pipeline_new(&pipeline, &nothing, text_of("uint8"), text_of("NCHW"), &fault), 0);
	assert_int_equal(pipeline_settle(pipeline, 33, 41, &fault), 0);
	assert_int_equal(pipeline_scratch_new(&scratch), 0);
	assert_int_equal(pipeline_draw(pipeline, &key, 33, 41, scratch, &need, &fault), 0);
	assert_int_equal(pipeline_draw(pipeline, &key, 33, 42, scratch, &need, &fault),
			 PIPELINE_E_IMAGE);
	assert_string_equal(fault.text, "the transforms make it 33 x 42, but the samples of this "
					"batch are 33 x 41: where pictures differ in size, add "
					"Resize((h, w)) or a crop");
	pipeline_scratch_free(scratch);
	pipeline_free(pipeline);
}

/* One pixel with many weights, shown many times: the table has it once. */
static void test_padding_does_not_multiply_tables(void **state)
{
	const struct value list =
		LIST(NAMED("Resize", KEY("size", LIST(UINT(1), UINT(1))),
			   KEY("interpolation", TEXT("lanczos"))),
		     NAMED("Pad", KEY("padding", UINT(4000)), KEY("padding_mode", TEXT("edge"))));
	struct fault fault;
	(void)state;
	assert_int_equal(make(&list, 3000, 2, 0, &fault), 0);
}

/* -- work that takes long ----------------------------------------------------------------- */

#define BLUR NAMED("GaussianBlur", KEY("kernel_size", UINT(255)))
#define MANY_BLURS BLUR, BLUR, BLUR, BLUR, BLUR, BLUR, BLUR, BLUR, BLUR, BLUR
#define SIZE(edge_) NAMED("Resize", KEY("size", LIST(UINT(edge_), UINT(edge_))))

static void check_work(const struct value *list, int32_t width, uint32_t views, const char *words)
{
	struct pipeline *pipeline = made(list, "uint8", "NHWC");
	struct fault fault = {""};
	int r = pipeline_check_work(pipeline, width, width, views, &fault);
	assert_int_equal(r, words ? PIPELINE_E_TRANSFORM : 0);
	if (words && !strstr(fault.text, words))
		fail_msg("no '%s' in '%s'", words, fault.text);
	pipeline_free(pipeline);
}

static void test_work_is_bounded(void **state)
{
	const struct value blurs = LIST(MANY_BLURS, SIZE(32)), large = LIST(SIZE(2500), MANY_BLURS);
	const struct value held =
		LIST(SIZE(2500),
		     NAMED("RandomApply", KEY("transforms", LIST(MANY_BLURS)), KEY("p", REAL(0))));
	const struct value one = LIST(SIZE(500), BLUR, SIZE(32));
	const struct value small = LIST(SIZE(16)); /* no kernel fits: nothing to be judged */
	struct fault fault;
	(void)state;
	check_work(&blurs, 0, 1, NULL);
	check_work(&blurs, 1600, 1, "a picture of 1600 x 1600");
	check_work(&large, 0, 1, "may take 4,294,967,296");
	check_work(&held, 0, 1, "may take 4,294,967,296"); /* what could be chosen counts */
	check_work(&one, 0, 32, NULL);
	check_work(&one, 0, 136, "136 views");
	check_work(&small, 0, 1000, NULL);
	/* Where pictures differ, each is judged. */
	assert_int_equal(make(&blurs, 400, 300, 0, &fault), 0);
	assert_int_equal(make(&blurs, 1600, 1600, 0, &fault), PIPELINE_E_IMAGE);
	assert_non_null(strstr(fault.text, "for a picture of 1600 x 1600"));
}

/* 0, or what pipeline_apply() says of a picture of 300 x 300. */
static int apply(const struct value *list, struct cancel *cancel)
{
	const struct draw_key key = {1, 2, 3};
	struct pipeline *pipeline = made(list, "uint8", "NHWC");
	struct pipeline_scratch *scratch = NULL;
	struct rect need;
	struct fault fault;
	uint8_t *pixels = calloc(1, 300 * 900 + BUFFER_SLACK);
	uint8_t *out = malloc(pipeline_output(pipeline).bytes);
	const struct image image = {pixels, 900, 300, 300, {0, 0, 300, 300}};
	assert_int_equal(pipeline_scratch_new(&scratch), 0);
	assert_int_equal(pipeline_draw(pipeline, &key, 300, 300, scratch, &need, &fault), 0);
	int r = pipeline_apply(pipeline, &image, NULL, scratch, out, cancel);
	pipeline_scratch_free(scratch);
	pipeline_free(pipeline);
	free(pixels);
	free(out);
	return r;
}

static void test_work_is_stopped(void **state)
{
	const struct value lists[] = {
		LIST(SIZE(300), BLUR),
		LIST(SIZE(3000)),
		LIST(NAMED("RandomRotation", KEY("degrees", UINT(30)),
			   KEY("interpolation", TEXT("bicubic"))),
		     SIZE(1500)),
		LIST(NAMED("Resize", KEY("size", LIST(UINT(2000), UINT(2000))),
			   KEY("interpolation", TEXT("nearest")))),
	};
	atomic_bool unwanted;
	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		struct cancel wanted = {.unwanted = &unwanted}, late = {.limit_ns = 1};
		atomic_init(&unwanted, false);
		assert_int_equal(apply(&lists[i], NULL), 0);
		assert_int_equal(apply(&lists[i], &wanted), 0);
		atomic_store(&unwanted, true);
		assert_int_equal(apply(&lists[i], &wanted), PIPELINE_E_STOPPED);
		assert_int_equal(apply(&lists[i], &late), PIPELINE_E_STOPPED);
	}
	const struct value little = LIST(SIZE(32)); /* over before anybody looks */
	assert_int_equal(apply(&little, &(struct cancel){.unwanted = &unwanted}), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_extreme_pictures),
		cmocka_unit_test(test_pictures_that_cannot_be_taken),
		cmocka_unit_test(test_sample_of_another_size),
		cmocka_unit_test(test_padding_does_not_multiply_tables),
		cmocka_unit_test(test_work_is_bounded),
		cmocka_unit_test(test_work_is_stopped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
