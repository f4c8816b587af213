// SPDX-License-Identifier: MIT
/*
 * The pickle reader and the idx parser, with bytes written by hand. test_dataset_published.py
 * compares what Python and NumPy write.
 */
#include <string.h>

#include "dataset/arrays/idx.h"
#include "dataset/arrays/pickle.h"
#include "tests/unit/test.h"

static struct fault fault;
static struct pickle pickle;

static int parse(const char *bytes, size_t size, const struct pickle_value **root)
{
	fault.text[0] = '\0';
	return pickle_parse(&pickle, bytes, size, root, &fault);
}

#define PARSE(bytes, root) parse(bytes, sizeof(bytes) - 1, root)

#define ARRAY_HEAD                                                                                 \
	"cnumpy.core.multiarray\n_reconstruct\n"                                                   \
	"cnumpy\nndarray\nK\x00\x85U\x01"                                                          \
	"b\x87R(K\x01K\x02K\x03\x86"                                                               \
	"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff"   \
	"K\x00tb"

static void test_python2(void **state)
{
	(void)state;
	const struct pickle_value *root;
	struct pickle_matrix matrix;
	assert_int_equal(PARSE("\x80\x02}q\x01(U\x06labels]q\x02(K\x07M\x01\x01J\xff\xff\xff\xff"
			       "\x8a\x02\x00\x80"
			       "eU\x04"
			       "data" ARRAY_HEAD "\x89U\x06"
			       "abcdeftbu.",
			       &root),
			 0);
	const struct pickle_value *labels = pickle_get(&pickle, root, "labels");
	static const int64_t expected[] = {7, 257, -1, -32768};
	assert_int_equal(labels->list.count, 4);
	for (uint64_t i = 0; i < 4; i++)
		assert_true(pickle_item(&pickle, labels, i)->whole == expected[i]);
	assert_true(pickle_matrix(&pickle, pickle_get(&pickle, root, "data"), &matrix));
	assert_true(matrix.rows == 2 && matrix.columns == 3 && matrix.row == 3);
	assert_memory_equal(matrix.data, "abcdef", 6);
	assert_null(pickle_get(&pickle, root, "datas"));
	assert_null(pickle_get(&pickle, labels, "data"));
	pickle_deinit(&pickle);

	/* Columns first, and the bytes as protocol 2 of Python 3 writes them. */
	assert_int_equal(PARSE("\x80\x02" ARRAY_HEAD "\x88"
			       "c_codecs\nencode\nX\x07\x00\x00\x00"
			       "ab\xc3\xbf"
			       "defX\x06\x00\x00\x00latin1\x86Rtb.",
			       &root),
			 0);
	assert_true(pickle_matrix(&pickle, root, &matrix));
	assert_true(matrix.row == 1 && matrix.column == 2);
	assert_memory_equal(matrix.data,
			    "ab\xff"
			    "def",
			    6);
	pickle_deinit(&pickle);
	pickle_deinit(&pickle);
}

/* An array whose shape needs more bytes than it has is refused. */
static void test_matrix(void **state)
{
	(void)state;
	const struct pickle_value *root;
	struct pickle_matrix matrix;
	assert_int_equal(PARSE("\x80\x02" ARRAY_HEAD "\x89U\x05"
			       "abcdetb.",
			       &root),
			 0);
	assert_false(pickle_matrix(&pickle, root, &matrix));
	pickle_deinit(&pickle);
	assert_int_equal(PARSE("\x80\x02]q\x01h\x01"
			       "a.",
			       &root),
			 0);
	assert_false(pickle_matrix(&pickle, root, &matrix));
	assert_ptr_equal(pickle_item(&pickle, root, 0), root); /* a list that holds itself */
	pickle_deinit(&pickle);
}

static void refuse(const char *bytes, size_t size, const char *words)
{
	const struct pickle_value *root;
	assert_int_equal(parse(bytes, size, &root), PICKLE_E_BAD);
	if (!strstr(fault.text, words))
		fail_msg("no '%s' in '%s'", words, fault.text);
	pickle_deinit(&pickle);
}

static void test_refused(void **state)
{
	(void)state;
#define REFUSE(bytes, words) refuse(bytes, sizeof(bytes) - 1, words)
	REFUSE("", "not a pickle");
	REFUSE("(dp0\n.", "not a pickle");
	REFUSE("\x80\x06N.", "not a pickle");
	REFUSE("\x80\x02", "cut off");
	REFUSE("\x80\x02U\x05"
	       "abc.",
	       "cut off");
	REFUSE("\x80\x02\x8e\xff\xff\xff\xff\xff\xff\xff\xff.", "cut off");
	REFUSE("\x80\x02"
	       "cos\nsystem\nU\x02id\x85R.",
	       "at byte 13 of the pickle: it asks for os.system");
	REFUSE("\x80\x02\x8c\x02os\x8c\x06system\x93.", "asks for os.system");
	REFUSE("\x80\x02"
	       "cnumpy",
	       "cut off");
	REFUSE("\x80\x02Q.", "at byte 2 of the pickle: the opcode 0x51");
	REFUSE("\x80\x02.", "missing");
	REFUSE("\x80\x02Nt.", "mark");
	REFUSE("\x80\x02](Nu.", "not a list or dict");
	REFUSE("\x80\x02}(Nu.", "not a list or dict");
	REFUSE("\x80\x02](\x85.", "missing");
	REFUSE("\x80\x02h\x01.", "undefined memo entry");
	REFUSE("\x80\x02Nr\xff\xff\xff\x7f.", "the memo is larger");
	REFUSE("\x80\x02\x8a\x09"
	       "123456789.",
	       "64 bits");
	REFUSE("\x80\x02N)R.", "not a function");
	REFUSE("\x80\x02"
	       "cnumpy\ndtype\n)R.",
	       "arguments");
	REFUSE("\x80\x02]Nb.", "not a NumPy array");
	REFUSE("\x80\x02"
	       "c_codecs\nencode\nX\x02\x00\x00\x00\xc4\x80X\x06\x00\x00\x00latin1\x86R.",
	       "not Latin-1");
#undef REFUSE
}

/* Small files that would need much memory. */
static void test_limits(void **state)
{
	(void)state;
	size_t size = 2 + 2 * (size_t)PICKLE_VALUES_MAX;
	char *bytes = test_malloc(size);
	memcpy(bytes, "\x80\x02", 2);
	memset(bytes + 2, 'N', size - 2);
	refuse(bytes, size, "more values");
	memset(bytes + 2, '(', size - 2);
	refuse(bytes, size, "more marks");
	test_free(bytes);

	static const char encode[] = "h\x01h\x02h\x03\x86R";
	static const char head[] = "\x80\x02"
				   "c_codecs\nencode\nq\x01X\x64\x00\x00\x00";
	char twice[4096];
	char *to = mempcpy(twice, head, sizeof(head) - 1);
	to = (char *)memset(to, 'a', 100) + 100;
	to = mempcpy(to, "q\x02X\x06\x00\x00\x00latin1q\x03", 15);
	for (int i = 0; i < 100; i++)
		to = mempcpy(to, encode, sizeof(encode) - 1);
	refuse(twice, (size_t)(to - twice), "more than once");
}

static void test_idx(void **state)
{
	(void)state;
	static const uint8_t good[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 1, 7, 9};
	uint8_t bad[sizeof(good)];
	struct idx idx;
	assert_int_equal(idx_parse(&idx, good, sizeof(good), &fault), 0);
	assert_true(idx.dims == 2 && idx.shape[0] == 2 && idx.shape[1] == 1);
	assert_true(idx.data[0] == 7 && idx.data[1] == 9);
	for (size_t size = 0; size < sizeof(good); size++)
		assert_int_equal(idx_parse(&idx, good, size, &fault), IDX_E_BAD);
	assert_non_null(strstr(fault.text, "cut off"));
	static const struct {
		size_t at;
		uint8_t byte;
	} changes[] = {{0, 1}, {1, 1}, {2, 9}, {3, 0}, {3, 5}, {7, 0}, {7, 1}, {4, 0xff}};
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		memcpy(bad, good, sizeof(good));
		bad[changes[i].at] = changes[i].byte;
		assert_int_equal(idx_parse(&idx, bad, sizeof(bad), &fault), IDX_E_BAD);
	}
	/* 2^32 times 2^32 is not 0. */
	static const uint8_t huge[] = {0, 0, 8, 4, 0x80, 0, 0, 0, 0x80, 0,
				       0, 0, 0, 0, 0,	 4, 0, 0, 0,	1};
	assert_int_equal(idx_parse(&idx, huge, sizeof(huge), &fault), IDX_E_BAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python2), cmocka_unit_test(test_matrix),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_idx),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
