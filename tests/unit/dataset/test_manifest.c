// SPDX-License-Identifier: MIT
/*
 * Manifests in four formats, right and wrong. FAULTS 67, 69.
 */
#include "tests/unit/dataset/opened.h"
#include "tests/unit/test.h"

/* Manifests. */

static void test_lines(void **state)
{
	(void)state;
	put("list.txt", "\xef\xbb\xbf"
			"a/1.jpg 3\r\n\n  b.jpg\t-7  \na/1.jpg 0");
	put("a/1.jpg", "one");
	struct dataset *dataset = must_open(at("list.txt"));
	assert_int_equal(dataset_count(dataset), 3);
	assert_int_equal(dataset_class_count(dataset), 0);
	assert_sample(dataset, 0, "a/1.jpg", 3);
	assert_sample(dataset, 1, "b.jpg", -7);
	assert_sample(dataset, 2, "a/1.jpg", 0);
	struct buffer buffer = BUFFER_NULL;
	assert_int_equal(dataset_read(dataset, 2, LIMIT, &buffer, NULL, &fault), 0);
	assert_memory_equal(buffer.data, "one", 3);
	assert_int_equal(dataset_read(dataset, 1, LIMIT, &buffer, NULL, &fault), DATASET_E_READ);
	assert_words("b.jpg: No such file");
	buffer_deinit(&buffer);
	dataset_free(dataset);
}

static void test_labels(void **state)
{
	(void)state;
	put("whole.txt", "a 1 -2 9223372036854775807\nb 4 5 6\n");
	struct dataset *dataset = must_open(at("whole.txt"));
	struct dataset_label label = dataset_label(dataset);
	int64_t whole[3];
	assert_string_equal(label.dtype, "int64");
	assert_int_equal(label.dims, 1);
	assert_int_equal(label.count, 3);
	assert_int_equal(label.bytes, sizeof(whole));
	dataset_read_label(dataset, 0, whole);
	assert_true(whole[0] == 1 && whole[1] == -2 && whole[2] == INT64_MAX);
	dataset_free(dataset);

	/* One float makes all floats, also those before it. */
	char text[8192] = "";
	for (int i = 0; i < 600; i++)
		sprintf(text + strlen(text), "x %d %d\n", i, -i);
	strcat(text, "y 1.5 2\nz 16777216 1e-3\n");
	put("real.txt", text);
	dataset = must_open(at("real.txt"));
	label = dataset_label(dataset);
	float real[2];
	assert_string_equal(label.dtype, "float32");
	assert_int_equal(label.bytes, sizeof(real));
	for (uint64_t i = 0; i < 600; i++) {
		dataset_read_label(dataset, i, real);
		assert_true(real[0] == (float)i && real[1] == -(float)i);
	}
	dataset_read_label(dataset, 600, real);
	assert_true(real[0] == 1.5f && real[1] == 2.0f);
	dataset_read_label(dataset, 601, real);
	assert_true(real[0] == 16777216.0f && real[1] == 1e-3f);
	dataset_free(dataset);

	/* A whole number that float32 lacks is not rounded, wherever it stands. */
	static const char *const rounded[] = {
		"a 16777217\nb 1.5\n",
		"a 1.5\nb 16777217\n",
		"a 1.5\nb -16777217\n",
		"a 9007199254740993.0\n",
		"a 1\nb 9223372036854775807.0\n",
		"a 0.5 9223372036854775807\n",
		"a 1234567891e0\n",
	};
	for (size_t i = 0; i < sizeof(rounded) / sizeof(rounded[0]); i++) {
		put("rounded.txt", rounded[i]);
		assert_refused(at("rounded.txt"), DATASET_E_OPEN, "float32");
	}
	put("large.txt", "a 1e30\nb 16777218\nc 0.1\nd -9223372036854775808\n");
	dataset = must_open(at("large.txt"));
	assert_string_equal(dataset_label(dataset).dtype, "float32");
	dataset_free(dataset);
}

static void test_tables(void **state)
{
	(void)state;
	put("a.tsv", "with blank.jpg\t1\nb.jpg\t2\n");
	struct dataset *dataset = must_open(at("a.tsv"));
	assert_sample(dataset, 0, "with blank.jpg", 1);
	assert_sample(dataset, 1, "b.jpg", 2);
	dataset_free(dataset);

	put("b.tsv", "label\tpath\n1\tx.jpg\n");
	dataset = must_open(at("b.tsv"));
	assert_int_equal(dataset_count(dataset), 1);
	assert_sample(dataset, 0, "x.jpg", 1);
	dataset_free(dataset);

	put("c.csv",
	    "label,path\r\n4,\"a \"\"b\"\", c.jpg\"\r\n\"5\",\"two\nlines.jpg\"\r\n6,d\r\n");
	dataset = must_open(at("c.csv"));
	assert_int_equal(dataset_count(dataset), 3);
	assert_sample(dataset, 0, "a \"b\", c.jpg", 4);
	assert_sample(dataset, 1, "two\nlines.jpg", 5);
	assert_sample(dataset, 2, "d", 6);
	dataset_free(dataset);
}

static void test_jsonl(void **state)
{
	(void)state;
	put("a.jsonl", "{\"path\": \"\\u00e9 x.jpg\", \"label\": 5, \"more\": [{}]}\n\n"
		       "{\"label\": 6, \"path\": \"b\"}\n");
	struct dataset *dataset = must_open(at("a.jsonl"));
	assert_sample(dataset, 0, "\xc3\xa9 x.jpg", 5);
	assert_sample(dataset, 1, "b", 6);
	dataset_free(dataset);

	put("b.jsonl", "{\"path\": \"a\", \"label\": [1, 2.5]}\n");
	dataset = must_open(at("b.jsonl"));
	float real[2];
	assert_int_equal(dataset_label(dataset).bytes, sizeof(real));
	dataset_read_label(dataset, 0, real);
	assert_true(real[0] == 1.0f && real[1] == 2.5f);
	dataset_free(dataset);
}

/* What other programs write and JSON does not have, in what nobody asks for. */
static void test_jsonl_of_python(void **state)
{
	(void)state;
	static const char *const values[] = {
		"NaN",
		"Infinity",
		"-Infinity",
		"18446744073709551615",
		"-9223372036854775809",
		"100000000000000000000000000000000",
		"1e999",
		"-1.5E+400",
		"\"\\ud83d\"",
		"\"a\\ude00 \\\" \\ud83d\\u0041\"",
		"\"\\u0000\"",
		"\"\xff\"",
		"[NaN, {\"\\ud83d\" : \"NaN\", \"\\ud83e\": [Infinity]}]",
	};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char text[256];
		snprintf(text, sizeof(text),
			 "{\"other\": %s, \"path\": \"NaN \\ud83d\\ude00.jpg\", \"label\": "
			 "-9223372036854775808, \"more\":%s}\n",
			 values[i], values[i]);
		put("p.jsonl", text);
		struct dataset *dataset = must_open(at("p.jsonl"));
		assert_sample(dataset, 0, "NaN \xf0\x9f\x98\x80.jpg", INT64_MIN);
		dataset_free(dataset);
	}
}

struct refusal {
	const char *name, *text, *words;
};

static void assert_all_refused(const struct refusal *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		put(cases[i].name, cases[i].text);
		assert_refused(at(cases[i].name), DATASET_E_OPEN, cases[i].words);
	}
}

static void test_jsonl_refusals(void **state)
{
	(void)state;
	static const struct refusal cases[] = {
		{"x.jsonl", "{\"path\": \"a\", \"label\": 1}\n[]\n",
		 "x.jsonl:2: not a JSON object"},
		{"x.jsonl", "{\"path\": 1, \"label\": 1}", "x.jsonl:1: 'path' must be a text"},
		{"x.jsonl", "{\"label\": 1}", "x.jsonl:1: 'path' is missing"},
		{"x.jsonl", "{\"path\": \"a\", \"label\": true}", "'label' must be a number or a"},
		{"x.jsonl", "{\"path\": \"a\", \"label\": []}", "'label' is an empty list"},
		{"x.jsonl", "{\"path\": \"a\", \"path\": \"b\"}", "x.jsonl:1: column"},
		{"x.jsonl", "{\"path\": \"\xff\", \"label\": 1}",
		 "x.jsonl:1: 'path' is a text with \\xff, which cannot be used"},
		{"x.jsonl", "{\"path\": \"a\\u0000b\", \"label\": 1}",
		 "x.jsonl:1: 'path' is a text with \\u0000, which cannot be used"},
		{"x.jsonl", "{\"path\": \"a\", \"label\": NaN}", "1: 'label' is NaN, which cannot"},
		{"x.jsonl", "{\"path\": \"a\", \"label\": [0, -Infinity]}",
		 "'label' is -Infinity, which cannot be used: it must be a number"},
		{"x.jsonl", "{\"path\": \"a\", \"label\": 18446744073709551615}",
		 "'label' is 18446744073709551615, which cannot be used"},
		{"x.jsonl", "{\"path\": \"a\", \"label\": -9223372036854775809}",
		 "'label' is -9223372036854775809, which cannot"},
		{"x.jsonl", "{\"path\": \"a\", \"label\": 1e999}",
		 "'label' is 1e999, which cannot"},
		{"x.jsonl", "{\"path\": \"a\", \"label\": \"\\ud83d\"}",
		 "'label' is a text with \\ud83d, which cannot be used"},
		{"x.jsonl", "{\"path\": \"a\", \"boxes\": [[0, 0, NaN, 1]]}", "'boxes' is NaN,"},
		{"x.jsonl", "{\"path\": \"a\", \"targets\": {\"b\": NaN}}", "'b' is NaN, which"},
		{"x.jsonl", "{\"path\": \"a\", \"mask\": \"\\udc00\"}",
		 "'mask' is a text with \\udc00"},
		{"x.jsonl", "{\"path\": \"a\", \"x\": Nan}", "x.jsonl:1: column"},
		{"x.jsonl", "{\"path\": \"a\", \"x\": [NaN}", "x.jsonl:1: not JSON: "},
		{"x.jsonl", "{\"path\": \"a\", \"x\": 01}", "x.jsonl:1: column"},
		{"x.jsonl", "{\"path\": \"a\", \"x\": \"\\ud83d", "x.jsonl:1: not JSON: "},
		{"x.jsonl", "{", "x.jsonl:1: column"},
	};
	assert_all_refused(cases, sizeof(cases) / sizeof(cases[0]));
}

/* FAULTS 69 and other mistakes: the words name the file and the line, and say what to do. */
static void test_manifest_refusals(void **state)
{
	(void)state;
	static const struct refusal cases[] = {
		{"e.txt", "", "e.txt has no samples"},
		{"e.txt", "\n \n", "e.txt has no samples"},
		{"e.csv", "path,label\n", "e.csv has no samples"},
		{"x.txt", "a 1\nb\n", "x.txt:2: the row has no label"},
		{"x.txt", "a 1\nb c.jpg 1\n",
		 "x.txt:2: 'c.jpg' is not a number: give one, such as 3 or 0.5; a path with"},
		{"x.txt", "a 1 2\n\nb 1\n", "x.txt:3: the row has 1 labels and the first row 2"},
		{"x.txt", "a 1\n/etc/passwd 1\n",
		 "x.txt:2: the path is absolute, and not below the dataset's root"},
		{"x.txt", "../a 1\n", "x.txt:1: the path leads out"},
		{"x.txt", "a/../../b 1\n", "x.txt:1: the path leads out"},
		{"x.txt", "a/./..//../b 1\n", "x.txt:1: the path leads out"},
		{"x.txt", "a/ 1\n", "x.txt:1: the path is a folder,"},
		{"x.txt", "z 1\na inf\n", "x.txt:2: 'inf' is not a number"},
		{"x.txt", "z 1\na 0x10\n", "x.txt:2: '0x10' is not a number"},
		{"x.txt", "z 1\na 1e\n", "x.txt:2: '1e' is not a number"},
		{"x.txt", "z 1\na .\n", "x.txt:2: '.' is not a number"},
		{"x.txt", "a 1e39\n", "x.txt:1: the number '1e39' does not fit float32"},
		{"x.txt", "a 9223372036854775808\n",
		 "x.txt:1: the number '9223372036854775808' does"},
		{"x.txt", "z 1\na b\x1b[31m\n", "'b\\x1b[31m' is not a number"},
		{"x.tsv", "a\t1\nb 2\n", "x.tsv:2: the row has no label"},
		{"x.tsv", "a\t1\nb\tdog\n",
		 "x.tsv:2: 'dog' is not a number: give one, such as 3 or 0.5 (field 2)"},
		{"x.csv", "a,1\n", "x.csv:1: the first line must name the columns"},
		{"x.csv", "path,label\na,1,2\n", "x.csv:2: the row has 3 fields and the header 2"},
		{"x.csv", "path,label\na\"b,1\n", "x.csv:2: field 1 has a quote in it"},
		{"x.csv", "path,label\n\"a\"b,1\n", "x.csv:2: field 1 has a quote in it"},
		{"x.csv", "path,label\n\"a\nb\",1\n\"c,2\n",
		 "x.csv:4: a quote (\") is opened here"},
	};
	assert_all_refused(cases, sizeof(cases) / sizeof(cases[0]));
	put_bytes("nul.txt", "a 1\nb\0c 1\n", 10);
	assert_refused(at("nul.txt"), DATASET_E_OPEN, "nul.txt:2: the line has a NUL byte");
	put("x.dat", "a 1\n");
	assert_refused(at("x.dat"), DATASET_E_ARGUMENT, "give format =");
}

static void test_long_lines(void **state)
{
	(void)state;
	size_t size = 3 << 16;
	char *text = malloc(size);
	assert_non_null(text);
	memset(text, 'x', size);
	memcpy(text, "a 1\n", 4);
	put_bytes("long.txt", text, size);
	assert_refused(at("long.txt"), DATASET_E_OPEN, "long.txt:2: the line is longer than 65536");
	text[4] = '"';
	put_bytes("long.csv", text, size);
	assert_refused(at("long.csv"), DATASET_E_OPEN, "long.csv:1: the first line must");
	memcpy(text, "path,label\n\"", 12);
	put_bytes("long.csv", text, size);
	assert_refused(at("long.csv"), DATASET_E_OPEN, "long.csv:2: the line is longer than 65536");

	/* The longest path that is allowed. */
	memset(text, ' ', 65536 + 1);
	memcpy(text, "a 1", 3);
	text[65536] = '\n';
	put_bytes("fits.txt", text, 65537);
	dataset_free(must_open(at("fits.txt")));

	memset(text, 'y', 5000);
	memcpy(text + 4096, " 1\n", 3);
	put_bytes("path.txt", text, 4099);
	assert_refused(at("path.txt"), DATASET_E_OPEN, "the path is longer than 4095 bytes");
	for (size_t i = 0; i < 65000; i += 2)
		memcpy(text + i, " 1", 2);
	text[0] = 'a';
	put_bytes("many.txt", text, 65000);
	assert_refused(at("many.txt"), DATASET_E_OPEN, "more than 4096 labels");
	free(text);
}

/* Lines that cross the reader's buffer at every position. */
static void test_many_lines(void **state)
{
	(void)state;
	FILE *file = fopen(at("many.csv"), "w");
	assert_non_null(file);
	fputs("path,label\n", file);
	for (int i = 0; i < 30000; i++)
		fprintf(file, "\"%0*d\",%d\r\n", i % 200 + 5, i, i);
	fclose(file);
	struct dataset *dataset = must_open(at("many.csv"));
	assert_int_equal(dataset_count(dataset), 30000);
	for (int i = 0; i < 30000; i++) {
		char path[256];
		sprintf(path, "%0*d", i % 200 + 5, i);
		assert_sample(dataset, (uint64_t)i, path, i);
	}
	dataset_free(dataset);
}

static void test_manifest_root(void **state)
{
	(void)state;
	put("lists/list", "x 1\n");
	put("data/x", "x!");
	struct pair pairs[] = {pair("path", at("lists/list")), pair("root", at("data")),
			       pair("format", "lines")};
	struct dataset_spec spec;
	struct dataset_progress progress = {0};
	struct dataset *dataset;
	struct buffer buffer = BUFFER_NULL;
	assert_int_equal(parse(&spec, pairs, 3), 0);
	assert_int_equal(dataset_open(&dataset, &spec, &progress, &fault), 0);
	assert_int_equal(dataset_read(dataset, 0, LIMIT, &buffer, NULL, &fault), 0);
	assert_memory_equal(buffer.data, "x!", 2);
	buffer_deinit(&buffer);
	dataset_free(dataset);
	dataset_spec_deinit(&spec);
	assert_int_equal(open_with(&dataset, at("lists/list"), "root", at("lost")),
			 DATASET_E_ARGUMENT); /* the ending does not tell the format */
	assert_words("lists/list is neither a folder nor named like a manifest");
	put("lists/x.PARQUET", "PAR1");
	assert_int_equal(open_with(&dataset, at("lists/x.PARQUET"), "root", at("lost")),
			 DATASET_E_ARGUMENT);
	assert_words("reads it, as stoker.sources.Parquet; for other clients");
	put("lists/list.txt", "x 1\n");
	assert_int_equal(open_with(&dataset, at("lists/list.txt"), "root", at("lost")),
			 DATASET_E_OPEN);
	assert_words("lost: No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_CASE(test_lines),		 TREE_CASE(test_labels),
		TREE_CASE(test_tables),		 TREE_CASE(test_jsonl),
		TREE_CASE(test_jsonl_of_python), TREE_CASE(test_manifest_refusals),
		TREE_CASE(test_jsonl_refusals),	 TREE_CASE(test_long_lines),
		TREE_CASE(test_many_lines),	 TREE_CASE(test_manifest_root),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
