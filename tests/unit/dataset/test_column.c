// SPDX-License-Identifier: MIT
/*
 * Manifests with more than labels: weights, targets, masks, boxes and points, right and wrong.
 */
#include <math.h>

#include "tests/unit/dataset/opened.h"

static const struct column *column(const struct dataset *dataset, unsigned n, const char *name)
{
	const struct columns *columns = dataset_columns(dataset);
	assert_true(n < columns->count);
	assert_string_equal(columns->column[n].name, name);
	return &columns->column[n];
}

static void assert_shape(const struct column *column, const char *dtype, uint32_t dims,
			 uint32_t first, uint32_t second)
{
	struct column_shape shape = column_shape(column);
	assert_string_equal(shape.dtype, dtype);
	assert_int_equal(shape.dims, dims);
	if (dims > 0)
		assert_int_equal(shape.shape[0], first);
	if (dims > 1)
		assert_int_equal(shape.shape[1], second);
}

static void assert_floats(const struct column *column, uint64_t row, const float *expected,
			  size_t count)
{
	float numbers[64];
	assert_int_equal(column_shape(column).bytes, count * sizeof(float));
	column_read(column, row, numbers);
	for (size_t i = 0; i < count; i++)
		assert_true(numbers[i] == expected[i] || (isnan(numbers[i]) && isnan(expected[i])));
}

/* The content of both samples, which is the same in both formats below. */
static void assert_full(const char *path, bool labelled)
{
	struct dataset *dataset = must_open(at(path));
	assert_int_equal(dataset_columns(dataset)->count, 6);
	const struct column *weight = column(dataset, 0, "weight");
	const struct column *mask = column(dataset, 1, "mask");
	const struct column *boxes = column(dataset, 2, "boxes");
	const struct column *points = column(dataset, 3, "points");
	const struct column *age = column(dataset, 4, "age");
	const struct column *pair = column(dataset, 5, "pair_2");
	assert_sample(dataset, 0, "a.jpg", labelled ? 7 : 0);
	assert_shape(weight, "float32", 0, 0, 0);
	assert_floats(weight, 0, (float[]){2}, 1);
	assert_floats(weight, 1, (float[]){0.5f}, 1);
	assert_shape(boxes, "float32", 2, 2, 4);
	assert_floats(boxes, 0, (float[]){1, 2, 3, 4, NAN, NAN, NAN, NAN}, 8);
	assert_floats(boxes, 1, (float[]){0, 0, 1.5f, 2, 5, 6, 7, 8}, 8);
	assert_shape(points, "float32", 2, 1, 2);
	assert_floats(points, 0, (float[]){NAN, NAN}, 2);
	assert_floats(points, 1, (float[]){9, -1}, 2);
	assert_shape(age, "float32", 0, 0, 0);
	assert_floats(age, 0, (float[]){3.5f}, 1);
	assert_floats(age, 1, (float[]){4}, 1);
	assert_shape(pair, "int64", 1, 2, 0);
	int64_t whole[2];
	column_read(pair, 1, whole);
	assert_true(whole[0] == -3 && whole[1] == 4);
	size_t size;
	assert_memory_equal(column_path(mask, 1, &size), "m/b.png", 7);
	assert_int_equal(size, 7);
	put("m/b.png", "a mask");
	struct buffer buffer = BUFFER_NULL;
	assert_int_equal(dataset_read_mask(dataset, 1, LIMIT, &buffer, &fault), 0);
	assert_memory_equal(buffer.data, "a mask", 6);
	assert_int_equal(dataset_read_mask(dataset, 0, LIMIT, &buffer, &fault), DATASET_E_READ);
	assert_words("a.png: No such file");
	put("m/b.png", "another");
	assert_int_equal(dataset_read_mask(dataset, 1, LIMIT, &buffer, &fault), DATASET_E_CHANGED);
	assert_words("m/b.png is not the file");
	buffer_deinit(&buffer);
	dataset_free(dataset);
}

static void test_jsonl(void **state)
{
	(void)state;
	put("a.jsonl", "{\"path\": \"a.jpg\", \"label\": 7, \"weight\": 2, \"mask\": \"m/a.png\","
		       " \"boxes\": [[1, 2, 3, 4]], \"points\": [],"
		       " \"targets\": {\"age\": 3.5, \"pair_2\": [1, 2]}}\n"
		       "{\"path\": \"b.jpg\", \"targets\": {\"pair_2\": [-3, 4], \"age\": 4},"
		       " \"boxes\": [[0, 0, 1.5, 2], [5, 6, 7, 8]], \"points\": [[9, -1]],"
		       " \"mask\": \"m/b.png\", \"weight\": 0.5, \"label\": 1}\n");
	assert_full("a.jsonl", true);
}

static void test_csv(void **state)
{
	(void)state;
	put("a.csv", "weight,mask,path,boxes,points,targets.age,targets.pair_2\n"
		     "2,m/a.png,a.jpg,1 2 3 4,,3.5,1 2\n"
		     "0.5,m/b.png,b.jpg,0 0  1.5 2 5 6 7 8,9 -1,4,-3 4\n");
	assert_full("a.csv", false);
}

/* Other labels or weights change the fingerprint. With labels only it is what it was before there
 * were columns. */
static void test_fingerprint(void **state)
{
	(void)state;
	static const char *const texts[] = {"path,label\na,1\nb,2\n",
					    "path,label,weight\na,1,1\nb,2,1\n",
					    "path,label,weight\na,1,1\nb,2,2\n",
					    "path,label,targets.weigh\na,1,1\nb,2,2\n",
					    "path,label,boxes\na,1,1 2 3 4\nb,2,\n",
					    "path,label,boxes\na,1,\nb,2,1 2 3 4\n"};
	struct digest digests[6];
	for (size_t i = 0; i < 6; i++) {
		put("x.csv", texts[i]);
		struct dataset *dataset = must_open(at("x.csv"));
		digests[i] = dataset_fingerprint(dataset);
		dataset_free(dataset);
		for (size_t n = 0; n < i; n++)
			assert_false(digest_equal(&digests[i], &digests[n]));
	}
	char hex[33];
	digest_hex(&digests[0], hex);
	assert_string_equal(hex, "19ca58b133f8e2ccfdf0ad6df4252f3d");
}

static void test_refusals(void **state)
{
	(void)state;
	static const struct {
		const char *name, *text, *words;
	} cases[] = {
		{"x.csv", "path,weight\na,\n", "x.csv:2: 'weight' is not a number"},
		{"x.csv", "path,weight\na,1 2\n", "x.csv:2: 'weight' is not a number"},
		{"x.csv", "path,boxes\na,1 2 3\n",
		 "'boxes' has 3 numbers, and must have a multiple of 4"},
		{"x.csv", "path,points\na,1\n",
		 "'points' has 1 numbers, and must have a multiple of 2"},
		{"x.csv", "path,targets.a\na,1\nb,1 2\n",
		 "'a' has 2 numbers here and 1 in the first"},
		{"x.csv", "path,mask\na,/etc/passwd\n", "mask: the path is absolute"},
		{"x.csv", "path,mask\na,../../x\n", "mask: the path leads out"},
		{"x.csv", "path,mask\na,\n", "mask: the path is empty"},
		{"x.csv", "path,weight,weight\na,1,1\n", "two columns are named 'weight'"},
		{"x.csv", "path,targets.index\na,1\n", "the target name 'index' is reserved"},
		{"x.csv", "path,targets.\na,1\n", "name '' is not made of 1 to 15 letters"},
		{"x.csv", "path,targets.1a\na,1\n", "name '1a' is not made of 1 to 15 letters"},
		{"x.csv", "path,targets.sixteen_letters_\na,1\n", "is not made of 1 to 15 letters"},
		{"x.jsonl", "{\"path\": \"a\", \"weight\": \"1\"}", "'weight' must be a number"},
		{"x.jsonl", "{\"path\": \"a\", \"mask\": 1}", "'mask' must be a text"},
		{"x.jsonl", "{\"path\": \"a\", \"boxes\": 1}", "'boxes' must be a list"},
		{"x.jsonl", "{\"path\": \"a\", \"boxes\": [1, 2, 3, 4]}", "list of lists of 4"},
		{"x.jsonl", "{\"path\": \"a\", \"boxes\": [[1, 2, 3, [4]]]}", "must be a number"},
		{"x.jsonl", "{\"path\": \"a\", \"targets\": 1}", "'targets' must be an object"},
		{"x.jsonl", "{\"path\": \"a\", \"targets\": {\"b\": [[1]]}}",
		 "'b' must be a number"},
		{"x.jsonl", "{\"path\": \"a\", \"targets\": {\"b\": []}}", "'b' is not a number"},
		{"x.jsonl", "{\"path\": \"a\", \"weight\": 1}\n{\"path\": \"b\", \"label\": 1}",
		 "x.jsonl:2: the row has a label, and the first row has none"},
		{"x.jsonl",
		 "{\"path\": \"a\", \"weight\": 1}\n{\"path\": \"b\", \"label\": 1, "
		 "\"weight\": 1}",
		 "x.jsonl:2: the row has a label, and the first row has none"},
		{"x.jsonl",
		 "{\"path\": \"a\", \"label\": 1, \"weight\": 1}\n{\"path\": \"b\", "
		 "\"weight\": 1}",
		 "x.jsonl:2: the row has no label, and the first row has one"},
		{"x.jsonl", "{\"path\": \"a\", \"weight\": 1}\n{\"path\": \"b\"}",
		 "x.jsonl:2: the column 'weight' of the first row is missing here"},
		{"x.csv", "path,weight\na,16777217\n", "x.csv:2: 'weight': a whole number that"},
		{"x.csv", "path,boxes\na,0 0 1 16777217\n", "'boxes': a whole number that"},
		{"x.csv", "path,points\na,0 16777217.0\n", "does not fit float32"},
		{"x.csv", "path,targets.a\na,16777217\nb,0.5\n", "'a': a whole number that"},
		{"x.jsonl", "{\"path\": \"a\", \"weight\": 16777217.0}", "does not fit float32"},
		{"x.jsonl",
		 "{\"path\": \"a\", \"label\": 1}\n{\"path\": \"b\", \"label\": 1, "
		 "\"weight\": 1}",
		 "x.jsonl:2: the first row has no column 'weight'"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put(cases[i].name, cases[i].text);
		assert_refused(at(cases[i].name), DATASET_E_OPEN, cases[i].words);
	}
}

static void test_too_many(void **state)
{
	(void)state;
	char text[4096] = "path";
	for (int i = 0; i < 14; i++)
		sprintf(text + strlen(text), ",targets.t%d", i);
	put("x.csv", text);
	assert_refused(at("x.csv"), DATASET_E_OPEN, "more than 13 columns");
	strcpy(text, "{\"path\": \"a\", \"targets\": {\"t\": 1");
	for (int i = 0; i < 13; i++)
		sprintf(text + strlen(text), ", \"t%d\": 1", i);
	put("x.jsonl", strcat(text, "}}"));
	assert_refused(at("x.jsonl"), DATASET_E_OPEN, "more than 13 columns");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_CASE(test_jsonl),	  TREE_CASE(test_csv),	    TREE_CASE(test_fingerprint),
		TREE_CASE(test_refusals), TREE_CASE(test_too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
