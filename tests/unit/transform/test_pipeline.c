// SPDX-License-Identifier: MIT
/*
 * The pipeline's checks: canonical text, sizes, what is refused and with which message. FAULTS 42
 * (wrong types, ranges).
 */
#include "proto/tables.h"
#include "tests/unit/list.h"

static void check_text(const struct value list, const char *dtype, const char *layout,
		       const char *want)
{
	struct pipeline *pipeline = made(&list, dtype, layout);
	assert_string_equal(pipeline_text(pipeline), want);
	pipeline_free(pipeline);
}

static void test_canonical_text(void **state)
{
	(void)state;
	check_text((struct value)LIST(NAMED("Resize", KEY("size", UINT(256))),
				      NAMED("CenterCrop", KEY("size", UINT(224)))),
		   "", "",
		   "Resize(size=256, interpolation=bilinear, max_size=None, antialias=True)|"
		   "CenterCrop(size=(224, 224))|float32|NCHW");
	check_text(
		(struct value)LIST(NAMED("RandomResizedCrop", KEY("size", LIST(UINT(32))),
					 KEY("ratio", LIST(REAL(0.75), REAL(4.0 / 3.0))),
					 KEY("antialias", NIL),
					 KEY("interpolation", TEXT("bicubic"))),
				   BARE("RandomHorizontalFlip"), BARE("ToTensor"),
				   NAMED("Normalize", KEY("mean", REAL(0.5)),
					 KEY("std", LIST(REAL(0.1), REAL(0.25), UINT(1))))),
		"bfloat16", "NHWC",
		"RandomResizedCrop(size=(32, 32), scale=(0.08, 1), ratio=(0.75, "
		"1.3333333333333333), "
		"interpolation=bicubic, antialias=True)|RandomHorizontalFlip(p=0.5)|"
		"Normalize(mean=(0.5, 0.5, 0.5), std=(0.1, 0.25, 1), inplace=False)|bfloat16|NHWC");
	check_text(
		(struct value)LIST(NAMED("Pad", KEY("padding", LIST(UINT(1), UINT(2))),
					 KEY("fill", REAL(7.9)), KEY("padding_mode", TEXT("edge"))),
				   NAMED("RandomCrop", KEY("size", LIST(UINT(8), UINT(16))))),
		"uint8", "NCHW",
		"Pad(padding=(1, 2, 1, 2), fill=(7, 7, 7), padding_mode=edge)|"
		"RandomCrop(size=(8, 16), padding=None, pad_if_needed=False, fill=(0, 0, 0), "
		"padding_mode=constant)|uint8|NCHW");
}

static void test_canonical_text_nests(void **state)
{
	(void)state;
	check_text(
		(struct value)LIST(
			CROP,
			NAMED("RandomApply",
			      KEY("transforms",
				  LIST(BARE("RandomInvert"),
				       NAMED("RandomChoice",
					     KEY("transforms", LIST(BARE("RandomVerticalFlip"),
								    BARE("RandomHorizontalFlip"))),
					     KEY("p", LIST(UINT(3), REAL(0.5))))))),
			NAMED("RandomOrder", KEY("transforms", LIST(CROP)))),
		"uint8", "",
		"CenterCrop(size=(4, 4))|RandomApply(transforms=[RandomInvert(p=0.5), "
		"RandomChoice(transforms=[RandomVerticalFlip(p=0.5), "
		"RandomHorizontalFlip(p=0.5)], p=[3, 0.5])], p=0.5)|"
		"RandomOrder(transforms=[CenterCrop(size=(4, 4))])|uint8|NCHW");
}

static void test_equal_text_equal_hash(void **state)
{
	const struct value one = LIST(NAMED("CenterCrop", KEY("size", UINT(4))));
	const struct value two =
		LIST(BARE("ToTensor"), NAMED("CenterCrop", KEY("size", LIST(REAL(4), UINT(4)))));
	const struct value other = LIST(NAMED("CenterCrop", KEY("size", UINT(5))));
	struct pipeline *a = made(&one, "float32", "NCHW"), *b = made(&two, "", "");
	struct pipeline *c = made(&other, "", "");
	struct digest hashes[] = {pipeline_hash(a), pipeline_hash(b), pipeline_hash(c)};
	(void)state;
	assert_true(digest_equal(&hashes[0], &hashes[1]));
	assert_false(digest_equal(&hashes[0], &hashes[2]));
	pipeline_free(a);
	pipeline_free(b);
	pipeline_free(c);
}

static void test_output(void **state)
{
	const struct value list = LIST(NAMED("CenterCrop", KEY("size", LIST(UINT(5), UINT(7)))));
	struct pipeline *planes = made(&list, "float16", "NCHW");
	struct pipeline *pixels = made(&list, "uint8", "NHWC");
	struct pipeline_output output = pipeline_output(planes);
	const uint32_t chw[] = {3, 5, 7}, hwc[] = {5, 7, 3};
	(void)state;
	assert_string_equal(output.dtype, "float16");
	assert_memory_equal(output.shape, chw, sizeof(chw));
	assert_int_equal(output.bytes, 2 * 3 * 5 * 7);
	output = pipeline_output(pixels);
	assert_string_equal(output.dtype, "uint8");
	assert_memory_equal(output.shape, hwc, sizeof(hwc));
	assert_int_equal(output.bytes, 3 * 5 * 7);
	pipeline_free(planes);
	pipeline_free(pixels);
}

static void check_refused(const struct value list, const char *dtype, const char *layout,
			  const char *words)
{
	struct pipeline *pipeline = NULL;
	struct fault fault = {""};
	int r = pipeline_new(&pipeline, &list, text_of(dtype), text_of(layout), &fault);
	if (r == 0)
		r = pipeline_settle(pipeline, 0, 0, &fault);
	else
		assert_null(pipeline);
	pipeline_free(pipeline);
	assert_int_equal(r, PIPELINE_E_TRANSFORM);
	if (!strstr(fault.text, words))
		assert_string_equal(fault.text, words);
}

#define REFUSED(words_, ...) check_refused((struct value)LIST(__VA_ARGS__), "", "", words_)

static void test_unknown_words_are_named(void **state)
{
	(void)state;
	REFUSED("transforms[2]: RandomResizedCrop has no parameter 'sizes' (did you mean 'size'?)",
		CROP, CROP, NAMED("RandomResizedCrop", KEY("sizes", UINT(4))));
	REFUSED("transforms[1]: Resize has no parameter '4'", CROP,
		NAMED("Resize", KEY("4", UINT(4))));
	REFUSED("transforms[1]: CenterCrop: 'size' is given twice", CROP,
		NAMED("CenterCrop", KEY("0", UINT(4)), KEY("size", UINT(4))));
	REFUSED("transforms[1]: there is no transform 'CentreCrop' (did you mean 'CenterCrop'?)",
		CROP, BARE("CentreCrop"));
	REFUSED("transforms[0]: there is no transform 'Kaleidoscope'", BARE("Kaleidoscope"));
	REFUSED("transforms[0]: there is no transform '\\x00\\x1b'", BARE("\0\33"));
	REFUSED("transforms[0]: there is no transform ''", BARE(""));
	REFUSED("Resize: there is no interpolation 'bilinaer' (did you mean 'bilinear'?)",
		NAMED("Resize", KEY("size", UINT(4)), KEY("interpolation", TEXT("bilinaer"))));
	REFUSED("Pad: there is no padding_mode 'wrap'",
		NAMED("Pad", KEY("padding", UINT(4)), KEY("padding_mode", TEXT("wrap"))));
	check_refused((struct value)LIST(CROP), "float64", "", "dtype: 'float64' is none of");
	check_refused((struct value)LIST(CROP), "", "CHW", "layout: 'CHW' is none of");
}

#define WORD(word, help) word,

/* Words that the clients' types have are known here. */
static void test_words_of_the_table(void **state)
{
	static const char *const dtypes[] = {DTYPE_CHOICES(WORD) NULL};
	static const char *const layouts[] = {LAYOUT_CHOICES(WORD) NULL};
	(void)state;
	for (const char *const *dtype = dtypes; *dtype; dtype++)
		for (const char *const *layout = layouts; *layout; layout++) {
			char want[64];
			(void)snprintf(want, sizeof(want), "CenterCrop(size=(4, 4))|%s|%s", *dtype,
				       *layout);
			check_text((struct value)LIST(CROP), *dtype, *layout, want);
		}
}

static void test_wrong_values_are_named(void **state)
{
	(void)state;
	REFUSED("a map with its 'name'", UINT(3));
	REFUSED("a map with its 'name'", MAP(KEY("size", UINT(3))));
	REFUSED("a map with its 'name'", MAP(KEY("name", UINT(3))));
	REFUSED("transforms[0]: CenterCrop needs 'size'", BARE("CenterCrop"));
	REFUSED("CenterCrop: 'size' must be from 1 to 16384",
		NAMED("CenterCrop", KEY("size", UINT(0))));
	REFUSED("must be from 1 to 16384", NAMED("CenterCrop", KEY("size", UINT(16385))));
	REFUSED("must be from 1 to 16384", NAMED("CenterCrop", KEY("size", UINT(UINT64_MAX))));
	REFUSED("must be from 1 to 16384", NAMED("CenterCrop", KEY("size", SINT(INT64_MIN))));
	REFUSED("'size' must be a whole number", NAMED("CenterCrop", KEY("size", REAL(3.5))));
	REFUSED("'size' must be a whole number", NAMED("CenterCrop", KEY("size", TEXT("4"))));
	REFUSED("'size' must be a whole number", NAMED("CenterCrop", KEY("size", NIL)));
	REFUSED("'size' must be a whole number",
		NAMED("CenterCrop", KEY("size", LIST(UINT(1), UINT(1), UINT(1)))));
	REFUSED("'size' must be a whole number",
		NAMED("CenterCrop", KEY("size", LIST_OF(NULL, 0))));
	REFUSED("'size' must be a whole number",
		NAMED("CenterCrop", KEY("size", LIST_OF(NULL, 33))));
	REFUSED("'size' must be a whole number",
		NAMED("CenterCrop", KEY("size", LIST(LIST(UINT(1))))));
	REFUSED("'p' must be from 0 to 1", NAMED("RandomHorizontalFlip", KEY("p", REAL(1.5))));
	REFUSED("'p' must be a number", NAMED("RandomHorizontalFlip", KEY("p", BOOLEAN(true))));
	REFUSED("'scale' must be (lowest, highest)",
		NAMED("RandomResizedCrop", KEY("size", UINT(4)),
		      KEY("scale", LIST(UINT(1), REAL(0.5)))));
	REFUSED("'ratio' must be from 0.0001 to 10000",
		NAMED("RandomResizedCrop", KEY("size", UINT(4)),
		      KEY("ratio", LIST(UINT(0), UINT(1)))));
	REFUSED("'padding' must be", NAMED("Pad", KEY("padding", LIST(UINT(1), UINT(1), UINT(1)))));
	REFUSED("'padding' must be from 0", NAMED("Pad", KEY("padding", SINT(-1))));
	REFUSED("Pad needs 'padding', or 'to'", NAMED("Pad", KEY("padding", NIL)));
	REFUSED("'fill' must be from 0 to 255",
		NAMED("Pad", KEY("padding", UINT(1)), KEY("fill", UINT(256))));
	REFUSED("'antialias' must be",
		NAMED("Resize", KEY("size", UINT(4)), KEY("antialias", UINT(1))));
	REFUSED("'max_size' goes with",
		NAMED("Resize", KEY("size", LIST(UINT(4), UINT(4))), KEY("max_size", UINT(9))));
	REFUSED("'max_size' must be greater",
		NAMED("Resize", KEY("size", UINT(4)), KEY("max_size", UINT(4))));
	REFUSED("'std' must be from 1e-06", CROP,
		NAMED("Normalize", KEY("mean", UINT(0)), KEY("std", UINT(0))));
	REFUSED("'mean' must be 1 or 3 numbers", CROP,
		NAMED("Normalize", KEY("mean", LIST(UINT(0), UINT(0))), KEY("std", UINT(1))));
}

static void test_wrong_lists(void **state)
{
	struct value many[61];
	struct pipeline *pipeline = NULL;
	struct fault fault;
	const struct value number = UINT(3), nil = NIL, crop = CROP;
	(void)state;
	for (size_t i = 0; i < 61; i++)
		many[i] = crop;
	check_refused((struct value)LIST_OF(many, 61), "", "",
		      "transforms[60]: CenterCrop is one more than the 60 transforms");
	check_refused(number, "", "", "transforms: must be a list");
	check_refused(nil, "", "", "add RandomResizedCrop(224)");
	assert_int_equal(pipeline_new(&pipeline, NULL, text_of(""), text_of(""), &fault), 0);
	assert_int_equal(pipeline_settle(pipeline, 0, 0, &fault), PIPELINE_E_TRANSFORM);
	pipeline_free(pipeline);
	REFUSED("transforms[0]: Resize of one number fixes the shorter edge only",
		NAMED("Resize", KEY("size", UINT(4))), BARE("RandomHorizontalFlip"));
	REFUSED("none of them gives the images one size", NAMED("Pad", KEY("padding", UINT(4))),
		BARE("RandomHorizontalFlip"));
	REFUSED("transforms[1]: RandomCrop of 5 x 5 (width x height) is larger than the picture, 4",
		CROP, NAMED("RandomCrop", KEY("size", UINT(5))));
	REFUSED("transforms[2]: CenterCrop stands after Normalize", CROP,
		NAMED("Normalize", KEY("mean", UINT(0)), KEY("std", UINT(1))), CROP);
	REFUSED("stands after Normalize", CROP,
		NAMED("Normalize", KEY("mean", UINT(0)), KEY("std", UINT(1))),
		NAMED("Normalize", KEY("mean", UINT(0)), KEY("std", UINT(1))));
	REFUSED("transforms[1]: Resize stands after ToTensor", BARE("ToTensor"),
		NAMED("Resize", KEY("size", LIST(UINT(4), UINT(4)))));
	REFUSED("transforms[1]: Pad stands after ToTensor", BARE("ToTensor"),
		NAMED("Pad", KEY("padding", UINT(1)), KEY("fill", UINT(3))));
	REFUSED("takes more than 1 GiB", NAMED("CenterCrop", KEY("size", UINT(16384))));
	check_refused((struct value)LIST(
			      CROP, NAMED("Normalize", KEY("mean", UINT(0)), KEY("std", UINT(1)))),
		      "uint8", "", "transforms[1]: Normalize makes fractions");
}

#define HELD(name_, ...) NAMED(name_, KEY("transforms", LIST(__VA_ARGS__)))

static void test_wrong_lists_in_lists(void **state)
{
	(void)state;
	REFUSED("transforms[1].transforms[0]: CenterCrop needs 'size'", CROP,
		HELD("RandomApply", BARE("CenterCrop")));
	REFUSED("transforms[0]: RandomApply: 'transforms' must be a list of at least one",
		NAMED("RandomApply", KEY("transforms", UINT(3))));
	REFUSED("transforms[0]: RandomOrder needs 'transforms'", BARE("RandomOrder"));
	REFUSED("transforms[0]: RandomChoice: 'p' has 2 numbers for 1 transforms",
		NAMED("RandomChoice", KEY("transforms", LIST(CROP)),
		      KEY("p", LIST(UINT(1), UINT(2)))));
	REFUSED("'p' must be a list of numbers, not all 0",
		NAMED("RandomChoice", KEY("transforms", LIST(CROP)), KEY("p", LIST(UINT(0)))));
	REFUSED("'p' must be from 0 to 1000000",
		NAMED("RandomChoice", KEY("transforms", LIST(CROP)), KEY("p", LIST(SINT(-1)))));
	REFUSED("transforms[1].transforms[0]: ToTensor stands inside of another", CROP,
		HELD("Compose", BARE("ToTensor")));
	REFUSED("transforms[1].transforms[0]: Grayscale stands after ToTensor", BARE("ToTensor"),
		HELD("Compose", NAMED("Grayscale", KEY("num_output_channels", UINT(3)))));
	REFUSED("transforms[0].transforms[0].transforms[0].transforms[0]: Compose stands more than",
		HELD("Compose", HELD("Compose", HELD("Compose", HELD("Compose", CROP)))));
}

/* The size of images may not depend on what is drawn. */
static void test_sizes_of_what_is_held(void **state)
{
	const struct value sized = NAMED("CenterCrop", KEY("size", UINT(5)));
	const struct value pad = NAMED("Pad", KEY("padding", UINT(1)));
	(void)state;
	REFUSED("transforms[0]: images come out of RandomApply in one size or another",
		HELD("RandomApply", CROP));
	REFUSED("transforms[0]: images come out of RandomChoice",
		HELD("RandomChoice", CROP, sized));
	REFUSED("transforms[1]: images come out of RandomOrder", CROP,
		HELD("RandomOrder", BARE("RandomInvert"), pad));
	REFUSED("transforms[1].transforms[1]: images come out of RandomApply", CROP,
		HELD("Compose", CROP, HELD("RandomApply", pad)));
	const struct value lists[] = {
		LIST(HELD("RandomChoice", CROP, HELD("Compose", sized, CROP))),
		LIST(HELD("RandomApply", sized), CROP),
		LIST(HELD("RandomChoice", sized, pad), HELD("Compose", CROP)),
		LIST(CROP, HELD("RandomOrder", CROP, BARE("RandomInvert"))),
	};
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		struct pipeline *pipeline = made(&lists[i], "uint8", "NHWC");
		assert_int_equal(pipeline_output(pipeline).shape[0], 4);
		pipeline_free(pipeline);
	}
}

/* A known size stays known behind transforms whose result depends on it. */
static void test_size_follows_the_list(void **state)
{
	const struct value list =
		LIST(NAMED("CenterCrop", KEY("size", LIST(UINT(10), UINT(20)))),
		     NAMED("Resize", KEY("size", UINT(5)), KEY("interpolation", TEXT("nearest"))),
		     NAMED("Pad", KEY("padding", LIST(UINT(1), UINT(2), UINT(3), UINT(4)))));
	struct pipeline *pipeline = made(&list, "uint8", "NHWC");
	struct pipeline_output output = pipeline_output(pipeline);
	(void)state;
	assert_int_equal(output.shape[0], 5 + 2 + 4);
	assert_int_equal(output.shape[1], 10 + 1 + 3);
	pipeline_free(pipeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_canonical_text),
		cmocka_unit_test(test_canonical_text_nests),
		cmocka_unit_test(test_equal_text_equal_hash),
		cmocka_unit_test(test_output),
		cmocka_unit_test(test_unknown_words_are_named),
		cmocka_unit_test(test_words_of_the_table),
		cmocka_unit_test(test_wrong_values_are_named),
		cmocka_unit_test(test_wrong_lists),
		cmocka_unit_test(test_wrong_lists_in_lists),
		cmocka_unit_test(test_sizes_of_what_is_held),
		cmocka_unit_test(test_size_follows_the_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
