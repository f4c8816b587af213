// SPDX-License-Identifier: MIT
/*
 * Manifests as people have them: class names, no labels, columns of other names, absolute paths,
 * keys that nobody knows.
 */
#include "tests/unit/dataset/opened.h"

#include "base/digest.h"

static int open_pairs(struct dataset **out, const struct pair *pairs, uint32_t count)
{
	struct dataset_spec spec;
	struct dataset_progress progress = {0};
	int result = parse(&spec, pairs, count);
	if (result)
		return result;
	result = dataset_open(out, &spec, &progress, &fault);
	dataset_spec_deinit(&spec);
	return result;
}

/* Names of classes: numbered in the order of their bytes, whatever the order of the rows. */
static void test_class_names(void **state)
{
	(void)state;
	static const struct {
		const char *name, *text;
	} cases[] = {
		{"a.txt", "1 eel\n2 cat\n3 \xc3\xa9t\n4 Dog\n5 cat\n"},
		{"a.tsv", "1\teel\n2\tcat\n3\t\xc3\xa9t\n4\tDog\n5\tcat\n"},
		{"a.csv", "label,path\neel,1\ncat,2\n\xc3\xa9t,3\n\"Dog\",4\ncat,5\n"},
		{"a.jsonl",
		 "{\"path\": \"1\", \"label\": \"eel\"}\n{\"path\": \"2\", \"label\": "
		 "\"cat\"}\n{\"path\": \"3\", \"label\": \"\\u00e9t\"}\n{\"path\": \"4\", "
		 "\"label\": \"Dog\"}\n{\"path\": \"5\", \"label\": \"cat\"}\n"},
	};
	static const char *const classes[] = {"Dog", "cat", "eel", "\xc3\xa9t"};
	static const int64_t labels[] = {2, 1, 3, 0, 1};
	struct digest first = {0};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put(cases[i].name, cases[i].text);
		struct dataset *dataset = must_open(at(cases[i].name));
		assert_int_equal(dataset_count(dataset), 5);
		assert_int_equal(dataset_class_count(dataset), 4);
		for (uint64_t n = 0; n < 4; n++)
			assert_string_equal(dataset_class_name(dataset, n), classes[n]);
		for (uint64_t n = 0; n < 5; n++)
			assert_int_equal(label_of(dataset, n), labels[n]);
		struct digest digest = dataset_fingerprint(dataset);
		if (i == 0)
			first = digest;
		assert_true(digest_equal(&digest, &first));
		dataset_free(dataset);
	}
	/* The names are part of the dataset, and so is which row has which. */
	put("b.txt", "1 eel\n2 cat\n3 \xc3\xa9t\n4 Dot\n5 cat\n");
	put("c.txt", "1 2\n2 1\n3 3\n4 0\n5 1\n");
	put("d.txt", "1 eel\n2 cat\n3 \xc3\xa9t\n4 Dog\n5 eel\n");
	static const char *const others[] = {"b.txt", "c.txt", "d.txt"};
	for (size_t i = 0; i < 3; i++) {
		struct dataset *dataset = must_open(at(others[i]));
		struct digest digest = dataset_fingerprint(dataset);
		assert_false(digest_equal(&digest, &first));
		dataset_free(dataset);
	}
	/* In jsonl names are quoted, so they may look like numbers. */
	put("n.jsonl",
	    "{\"path\": \"a\", \"label\": \"10\"}\n{\"path\": \"b\", \"label\": \"9\"}\n");
	struct dataset *dataset = must_open(at("n.jsonl"));
	assert_string_equal(dataset_class_name(dataset, 0), "10");
	assert_int_equal(label_of(dataset, 1), 1);
	dataset_free(dataset);
}

static void test_many_class_names(void **state)
{
	(void)state;
	FILE *file = fopen(at("many.txt"), "w");
	assert_non_null(file);
	for (int i = 0; i < 40000; i++)
		fprintf(file, "x c%05d\n", (i * 7919) % 20000);
	fclose(file);
	struct dataset *dataset = must_open(at("many.txt"));
	assert_int_equal(dataset_class_count(dataset), 20000);
	for (int i = 0; i < 40000; i++)
		assert_int_equal(label_of(dataset, (uint64_t)i), (i * 7919) % 20000);
	dataset_free(dataset);
}

/* No labels at all: each is 0, and there are no classes. */
static void test_no_labels(void **state)
{
	(void)state;
	static const struct {
		const char *name, *text;
	} cases[] = {{"n.txt", "a\nb\n"},
		     {"n.tsv", "a\nb\n"},
		     {"h.tsv", "path\na\nb\n"},
		     {"n.csv", "path\na\nb\n"},
		     {"n.jsonl", "{\"path\": \"a\"}\n{\"path\": \"b\"}\n"}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		print_message("%s\n", cases[i].name);
		put(cases[i].name, cases[i].text);
		struct dataset *dataset = must_open(at(cases[i].name));
		assert_int_equal(dataset_count(dataset), 2);
		assert_int_equal(dataset_class_count(dataset), 0);
		assert_sample(dataset, 0, "a", 0);
		assert_sample(dataset, 1, "b", 0);
		dataset_free(dataset);
	}
}

/* All rows have labels of one sort; the words say which row has not. */
static void test_labels_of_two_sorts(void **state)
{
	(void)state;
	static const struct {
		const char *name, *text, *words;
	} cases[] = {
		{"y.txt", "a\nb 1\n", "y.txt:2: the row has a label, and the first row has none"},
		{"y.txt", "a cat\nb\n", "y.txt:2: the row has no label, and the first row has one"},
		{"y.txt", "a cat\nb 1.5\n", "y.txt:2: the label '1.5' is a number and that of the"},
		{"y.txt", "a 1\nb cat\n", "y.txt:2: 'cat' is not a number"},
		{"y.txt", "my cat.jpg\n", "y.txt:1: the label 'cat.jpg' looks like the name of a"},
		{"y.txt", "my cat.jpg 3\n", "y.txt:1: 'cat.jpg' is not a number, and"},
		{"y.csv", "path,label,split\na,cat,train\n", "y.csv:2: 'cat' is not a number, and"},
		{"y.csv", "path,x,label\na,1,cat\n", "y.csv:2: 'cat' is not a number, and the"},
		{"y.csv", "path,label\na,\n", "y.csv:2: the label is empty"},
		{"y.jsonl",
		 "{\"path\": \"a\", \"label\": 1}\n{\"path\": \"b\", \"label\": \"x\"}\n",
		 "y.jsonl:2: the label is the name of a class, and that of the first row a number"},
		{"y.jsonl",
		 "{\"path\": \"a\", \"label\": \"x\"}\n{\"path\": \"b\", \"label\": 1}\n",
		 "y.jsonl:2: the label is a number, and that of the first row the name of a class"},
		{"y.jsonl", "{\"path\": \"a\", \"label\": 1}\n{\"path\": \"b\"}\n",
		 "y.jsonl:2: the row has no label"},
		{"y.jsonl", "{\"path\": \"a\", \"lable\": 1}\n",
		 "y.jsonl:1: unknown key 'lable'; did you mean 'label'?"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put(cases[i].name, cases[i].text);
		assert_refused(at(cases[i].name), DATASET_E_OPEN, cases[i].words);
	}
	char text[300] = "a ";
	memset(text + 2, 'x', 256);
	put("y.txt", text);
	assert_refused(at("y.txt"), DATASET_E_OPEN, "longer than 255 bytes");
}

/* A number with blanks beside it is that number, as for pandas, whatever sort of blanks. */
static void test_blanks_beside_numbers(void **state)
{
	(void)state;
	static const struct {
		const char *name, *text;
	} cases[] = {
		{"b.csv", "path, label\na, 9\nb, 10\n"},
		{"b.csv", "path ,label \na,9 \nb,\t10\t\n"},
		{"b.csv", "path,label\na,\"9 \"\nb,\" 10\"\n"},
		{"b.csv", "path,label\na,9\xc2\xa0\nb,\xc2\xa0"
			  "10\n"},
		{"b.csv", "path,label\na,\xef\xbb\xbf"
			  "9\nb,10\xe2\x80\x8b\n"},
		{"b.tsv", "a\t 9\nb\t10 \n"},
		{"b.txt", "a 9\xe3\x80\x80\nb \xef\xbb\xbf"
			  "10\n"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		print_message("%zu %s\n", i, cases[i].name);
		put(cases[i].name, cases[i].text);
		struct dataset *dataset = must_open(at(cases[i].name));
		assert_int_equal(dataset_class_count(dataset), 0);
		assert_sample(dataset, 0, "a", 9);
		assert_sample(dataset, 1, "b", 10);
		dataset_free(dataset);
	}
	/* A column's name, too: this is no second label. */
	static const char *const weights[] = {
		"path, label, weight\na, 9, 0.5\n",
		"\xef\xbb\xbfpath,label\xc2\xa0,\xc2\xa0weight\na,9,0.5\n"};
	for (size_t i = 0; i < 2; i++) {
		put("w.csv", weights[i]);
		struct dataset *dataset = must_open(at("w.csv"));
		assert_sample(dataset, 0, "a", 9);
		assert_int_equal(dataset_columns(dataset)->count, 1);
		dataset_free(dataset);
	}
}

/* The index that pandas writes unless it is told not to is no label. */
static void test_a_column_without_a_name(void **state)
{
	(void)state;
	static const char *const tables[] = {",path,label\n0,a,9\n1,b,10\n",
					     "path,label, \na,9,0\nb,10,1\n"};
	for (size_t i = 0; i < 2; i++) {
		struct dataset *dataset;
		put("u.csv", tables[i]);
		assert_refused(at("u.csv"), DATASET_E_OPEN, "has no name");
		assert_int_equal(open_with(&dataset, at("u.csv"), "label_column", "label"), 0);
		assert_sample(dataset, 0, "a", 9);
		assert_sample(dataset, 1, "b", 10);
		dataset_free(dataset);
	}
}

/* Lists in brackets are the numbers; what is nearly a number, or several, is no name of a class. */
static void test_lists_as_labels(void **state)
{
	(void)state;
	static const char *const lists[] = {"path,label\na,\"[1, 0]\"\nb,\"[0, 1]\"\n",
					    "path,label\na,[1 0]\nb,[0 1]\n"};
	for (size_t i = 0; i < 2; i++) {
		int64_t numbers[2];
		put("l.csv", lists[i]);
		struct dataset *dataset = must_open(at("l.csv"));
		assert_int_equal(dataset_label(dataset).count, 2);
		dataset_read_label(dataset, 0, numbers);
		assert_true(numbers[0] == 1 && numbers[1] == 0);
		dataset_read_label(dataset, 1, numbers);
		assert_true(numbers[0] == 0 && numbers[1] == 1);
		dataset_free(dataset);
	}
	static const struct {
		const char *label, *words;
	} cases[] = {
		{"1 0", "looks like several numbers"}, {"\"0,5\"", "looks like several numbers"},
		{"1|3", "looks like several numbers"}, {"1;3", "looks like several numbers"},
		{"[[1 0]]", "no list of numbers"},     {"[cat dog]", "no list of numbers"},
		{"[]", "no list of numbers"},	       {"[1 x]", "no list of numbers"},
		{"{1: 2}", "no list of numbers"},      {"{}", "no list of numbers"},
		{" ", "the label is empty"},	       {"\xef\xbb\xbf", "the label is empty"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[64];
		snprintf(text, sizeof(text), "path,label\na,%s\n", cases[i].label);
		put("l.csv", text);
		assert_refused(at("l.csv"), DATASET_E_OPEN, cases[i].words);
	}
	/* Names of classes stay what they are. */
	put("n.csv", "path,label\na,\"(25, 32)\"\nb,2-3\nc,new york\n");
	struct dataset *dataset = must_open(at("n.csv"));
	assert_int_equal(dataset_class_count(dataset), 3);
	assert_string_equal(dataset_class_name(dataset, 0), "(25, 32)");
	dataset_free(dataset);
}

static void assert_words_of(const char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("no '%s' in '%s'", words, text);
}

/* Keys that nobody looks at are named once. */
static void test_unused_keys(void **state)
{
	(void)state;
	put("u.jsonl", "{\"path\": \"a\", \"label\": 1, \"caption\": \"x\"}\n"
		       "{\"path\": \"b\", \"label\": 1, \"labels\": 2, \"caption\": \"x\"}\n");
	struct dataset *dataset = must_open(at("u.jsonl"));
	assert_string_equal(dataset_note(dataset),
			    "these keys of the manifest's rows are not used: 'caption', 'labels'");
	dataset_free(dataset);
	put("w.jsonl", "{\"path\": \"a\", \"label\": 1, \"wieght\": 1, \"height\": 5, \"a\": 1, "
		       "\"b\": 1, \"c\": 1}\n");
	dataset = must_open(at("w.jsonl"));
	assert_words_of(dataset_note(dataset), "'wieght'");
	assert_words_of(dataset_note(dataset), ", ...");
	dataset_free(dataset);
	put("v.jsonl", "{\"path\": \"a\", \"label\": 1}\n");
	dataset = must_open(at("v.jsonl"));
	assert_string_equal(dataset_note(dataset), "");
	dataset_free(dataset);
}

/* Tables as others write them: the description says which column is what. */
static void test_named_columns(void **state)
{
	(void)state;
	static const struct {
		const char *name, *text;
	} cases[] = {
		{"t.csv", "id,species,file,weight\n7,cat,a,2\n8,ant,b,3\n"},
		{"t.tsv", "id\tspecies\tfile\tweight\n7\tcat\ta\t2\n8\tant\tb\t3\n"},
		{"t.jsonl", "{\"id\": 7, \"species\": \"cat\", \"file\": \"a\", \"weight\": 2}\n"
			    "{\"id\": 8, \"species\": \"ant\", \"file\": \"b\", \"weight\": 3}\n"},
	};
	struct dataset *dataset;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		print_message("%s\n", cases[i].name);
		put(cases[i].name, cases[i].text);
		struct pair pairs[] = {pair("path", at(cases[i].name)), pair("path_column", "file"),
				       pair("label_column", "species")};
		assert_int_equal(open_pairs(&dataset, pairs, 3), 0);
		assert_sample(dataset, 0, "a", 1);
		assert_sample(dataset, 1, "b", 0);
		assert_string_equal(dataset_class_name(dataset, 1), "cat");
		assert_int_equal(dataset_columns(dataset)->count, 1); /* the weight */
		dataset_free(dataset);
	}
	static const struct {
		const char *name, *key, *column, *words;
	} wrong[] = {
		{"t.csv", "path_column", "flie", "'flie' is not among them: it begins with 'id'"},
		{"t.csv", "label_column", "kind", "'path' is not among them"},
		{"t.jsonl", "path_column", "flie", "t.jsonl:1: 'flie' is missing"},
		{"p.jsonl", "label_column", "kind", "p.jsonl:1: 'kind' is missing"},
		{"p.csv", "label_column", "kind", "'kind' is not among them"},
	};
	put("p.jsonl", "{\"path\": \"a\", \"label\": 1}\n");
	put("p.csv", "path,label\na,1\n");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(
			open_with(&dataset, at(wrong[i].name), wrong[i].key, wrong[i].column),
			DATASET_E_OPEN);
		assert_words(wrong[i].words);
	}
	put("l.txt", "a 1\n");
	assert_int_equal(open_with(&dataset, at("l.txt"), "label_column", "x"), DATASET_E_ARGUMENT);
	assert_words("path_column and label_column are for tsv, csv and jsonl");
	assert_int_equal(open_with(&dataset, top, "label_column", "x"), DATASET_E_ARGUMENT);
	assert_words("'label_column' is not for the kind 'folder'");
}

/* Absolute paths below the root are the same samples as relative ones. */
static void test_absolute_paths(void **state)
{
	(void)state;
	char text[1024];
	struct dataset *dataset;
	struct buffer buffer = BUFFER_NULL;
	put("data/x/1.jpg", "one");
	put("relative.csv", "path,mask,label\ndata/x/1.jpg,data/x/m.png,5\n");
	snprintf(text, sizeof(text), "path,mask,label\n%s/data//x/1.jpg,%s/data/x/m.png,5\n", top,
		 top);
	put("absolute.csv", text);
	dataset = must_open(at("relative.csv"));
	struct digest digest = dataset_fingerprint(dataset);
	dataset_free(dataset);
	dataset = must_open(at("absolute.csv"));
	assert_sample(dataset, 0, "data//x/1.jpg", 5);
	assert_int_equal(dataset_read(dataset, 0, LIMIT, &buffer, NULL, &fault), 0);
	assert_memory_equal(buffer.data, "one", 3);
	dataset_free(dataset);
	snprintf(text, sizeof(text), "path,mask,label\n%s/data/x/1.jpg,%s/data/x/m.png,5\n", top,
		 top);
	put("absolute.csv", text);
	dataset = must_open(at("absolute.csv"));
	struct digest other = dataset_fingerprint(dataset);
	assert_true(digest_equal(&digest, &other));
	dataset_free(dataset);
	/* Any root will do, also that of all. */
	assert_int_equal(open_with(&dataset, at("absolute.csv"), "root", "/"), 0);
	assert_string_equal(path_of(dataset, 0), at("data/x/1.jpg") + 1);
	dataset_free(dataset);
	/* A path beside the root, one that only begins like it, the root itself, and a way out. */
	static const char *const bad[] = {"/etc/passwd", "%s2/x.jpg", "%s", "%s/", "%s/../x.jpg"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		size_t size = (size_t)snprintf(text, sizeof(text), "path,label\n");
		/* Not a literal: each has at most one %s. */
		const char *where = strstr(bad[i], "%s");
		snprintf(text + size, sizeof(text) - size, "%s%s,1\n", where ? top : "",
			 where ? where + 2 : bad[i]);
		put("bad.csv", text);
		assert_refused(at("bad.csv"), DATASET_E_OPEN, "bad.csv:2: the path ");
	}
	buffer_deinit(&buffer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_CASE(test_class_names),
		TREE_CASE(test_many_class_names),
		TREE_CASE(test_no_labels),
		TREE_CASE(test_labels_of_two_sorts),
		TREE_CASE(test_unused_keys),
		TREE_CASE(test_named_columns),
		TREE_CASE(test_absolute_paths),
		TREE_CASE(test_blanks_beside_numbers),
		TREE_CASE(test_a_column_without_a_name),
		TREE_CASE(test_lists_as_labels),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
