// SPDX-License-Identifier: MIT
/* Tokens, the last minutes, texts that grow, labels, histograms. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "loop/meter/histogram.h"
#include "loop/state/core.h"
#include "loop/watch/watch.h"
#include "loop/watch/writer.h"
#include "tests/unit/test.h"

#define ME 1000

static struct core core;
static struct watch watch;

static void test_a_token_is_exchanged(void **state)
{
	char shown[WATCH_TOKEN_TEXT], kept[WATCH_TOKEN_TEXT], again[WATCH_TOKEN_TEXT];
	(void)state;
	watch_init(&watch, &core);
	assert_false(watch_token_exchange(&watch, "", ME, kept));
	assert_false(watch_token_is_good(&watch, ""));
	assert_int_equal(watch_token_new(&watch, shown), 0);
	assert_false(watch_token_is_good(&watch, shown));
	shown[5] ^= 1;
	assert_false(watch_token_exchange(&watch, shown, ME, kept));
	shown[5] ^= 1;
	assert_true(watch_token_exchange(&watch, shown, ME, kept));
	assert_string_not_equal(shown, kept);
	assert_true(watch_token_is_good(&watch, kept));
	/* A second browser of the same user, and nobody else. */
	assert_false(watch_token_exchange(&watch, shown, ME + 1, again));
	assert_false(watch_token_exchange(&watch, shown, WATCH_NOBODY, again));
	assert_true(watch_token_exchange(&watch, shown, ME, again));
	assert_string_not_equal(again, kept);
	assert_true(watch_token_is_good(&watch, again));
	kept[0] ^= 1;
	assert_false(watch_token_is_good(&watch, kept));
	/* Who could not be found out has it once. */
	assert_int_equal(watch_token_new(&watch, shown), 0);
	assert_true(watch_token_exchange(&watch, shown, WATCH_NOBODY, kept));
	assert_false(watch_token_exchange(&watch, shown, WATCH_NOBODY, again));
}

/* A link that was used lasts longer than a new one, which has to stay nevertheless. */
static void test_new_tokens_stay(void **state)
{
	char shown[WATCH_TOKEN_TEXT], other[WATCH_TOKEN_TEXT], kept[WATCH_TOKEN_TEXT];
	(void)state;
	watch_init(&watch, &core);
	for (int i = 0; i < WATCH_TOKENS; i++) {
		assert_int_equal(watch_token_new(&watch, shown), 0);
		assert_true(watch_token_exchange(&watch, shown, ME, kept));
	}
	assert_int_equal(watch_token_new(&watch, shown), 0);
	assert_int_equal(watch_token_new(&watch, other), 0);
	assert_true(watch_token_exchange(&watch, shown, ME, kept));
	assert_true(watch_token_exchange(&watch, other, ME, kept));
}

static void test_tokens_end_and_give_way(void **state)
{
	char tokens[WATCH_TOKENS + 1][WATCH_TOKEN_TEXT], kept[WATCH_TOKEN_TEXT];
	(void)state;
	watch_init(&watch, &core);
	for (int i = 0; i <= WATCH_TOKENS; i++)
		assert_int_equal(watch_token_new(&watch, tokens[i]), 0);
	assert_false(watch_token_exchange(&watch, tokens[0], ME, kept));
	assert_true(watch_token_exchange(&watch, tokens[1], ME, kept));
	for (int i = 0; i < WATCH_TOKENS; i++)
		watch.fresh[i].until_ns = watch.kept[i].until_ns = 1;
	assert_false(watch_token_exchange(&watch, tokens[2], ME, kept));
	assert_false(watch_token_is_good(&watch, kept));
}

static void test_history(void **state)
{
	(void)state;
	watch_init(&watch, &core);
	for (unsigned i = 0; i < WATCH_SECONDS + 7; i++) {
		core.counters[COUNTER_SAMPLES_DELIVERED] += i;
		core.counters[COUNTER_WORK_NS] += 2000000;
		watch_tick(&watch);
	}
	assert_int_equal(watch.seconds, WATCH_SECONDS + 7);
	assert_int_equal(watch.history[6].grown[0], WATCH_SECONDS + 6); /* the newest */
	assert_int_equal(watch.history[7].grown[0], 7);			/* the oldest */
	assert_int_equal(watch.history[7].grown[2], 2);
}

static void test_texts(void **state)
{
	struct writer writer = WRITER_NULL;
	(void)state;
	writer_add_json(&writer,
			"a\"b\\c\n\x7f \xc3\xa4 \xff \xc0\x80 \xed\xa0\x80 \xf0\x9f\x98\x80");
	assert_string_equal(writer.data,
			    "\"a\\u0022b\\u005cc\\u000a\\u007f \xc3\xa4 \\ufffd \\ufffd\\ufffd "
			    "\\ufffd\\ufffd\\ufffd \xf0\x9f\x98\x80\"");
	writer_deinit(&writer);
	for (int i = 0; i < 3000; i++)
		writer_add(&writer, "%04d", i);
	assert_int_equal(writer.size, 12000);
	assert_memory_equal(writer.data + 4 * 2999, "2999", 5);
	writer_deinit(&writer);
	writer_deinit(&writer);
}

/* Write the label and compare it; `expected` is without the quotes around it. */
static void assert_label(const char *text, const char *expected)
{
	struct writer writer = WRITER_NULL;
	writer_add_label(&writer, text);
	assert_int_equal(writer.data[0], '"');
	assert_int_equal(writer.data[writer.size - 1], '"');
	writer.data[writer.size - 1] = '\0';
	assert_string_equal(writer.data + 1, expected);
	writer_deinit(&writer);
}

static void test_labels(void **state)
{
	char text[256];
	(void)state;
	assert_label("", "");
	assert_label("a\"b\\c\nd", "a\\\"b\\\\c\\nd");
	assert_label("\xc3\xa4 \xf0\x9f\x98\x80", "\xc3\xa4 \xf0\x9f\x98\x80");
	assert_label("\xff\x1b[31m\xc2\x9b", "\xef\xbf\xbd\xef\xbf\xbd[31m\xef\xbf\xbd");
	memset(text, 'a', WRITER_LABEL_MAX);
	text[WRITER_LABEL_MAX] = '\0';
	assert_label(text, text);
	memset(text, 'a', 255);
	memcpy(text + 255 - 21, "the end of a long one", 22);
	assert_label(text, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...the end of a long one");
	for (int i = 0; i < 254; i += 2) /* both cuts lie within a character of these */
		memcpy(text + i, "\xc3\xa4", 3);
	memmove(text + 1, text, 255);
	text[0] = 'b';
	assert_label(text, "b\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
			   "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
			   "\xc3\xa4\xc3\xa4\xc3\xa4...\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
			   "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
	memset(text, 0x80, 255);
	text[255] = '\0';
	assert_label(text, "...");
}

/* What a file has that `mode` lets others read; and the message, or "". */
static void assert_token_file(const char *text, mode_t mode, const char *message)
{
	char path[] = "/tmp/stoker-token-XXXXXX";
	struct watch watch = {0};
	struct fault fault = {""};
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	int r = watch_read_token(&watch, path, &fault);
	unlink(path);
	assert_int_equal(r, *message ? WATCH_E_TOKEN : 0);
	assert_true(!*message || strstr(fault.text, message));
	assert_int_equal(watch_names_jobs(&watch, "0123456789abcdef0123456789ABCDEF"), r == 0);
	assert_false(watch_names_jobs(&watch, ""));
	assert_false(watch_token_is_good(&watch, "0123456789abcdef0123456789ABCDEF"));
}

static void test_the_scrapers_token(void **state)
{
	struct watch watch = {0};
	struct fault fault = {""};
	(void)state;
	assert_token_file("0123456789abcdef0123456789ABCDEF", 0600, "");
	assert_token_file("0123456789abcdef0123456789ABCDEF\n", 0640, "");
	assert_token_file("0123456789abcdef0123456789ABCDEF\n", 0644, "chmod o=");
	assert_token_file("0123456789abcdef0123456789ABCDEF\nx", 0600, "openssl rand");
	assert_token_file("0123456789abcdef0123456789ABCDEx\n", 0600, "openssl rand");
	assert_token_file("0123456789abcdef\n", 0600, "openssl rand");
	assert_token_file("", 0600, "openssl rand");
	assert_int_equal(watch_read_token(&watch, "/tmp", &fault), WATCH_E_TOKEN);
	assert_int_equal(watch_read_token(&watch, "/no/such", &fault), WATCH_E_TOKEN);
	assert_int_equal(watch_read_token(&watch, NULL, &fault), 0);
	assert_false(watch_names_jobs(&watch, ""));
}

static void test_histograms(void **state)
{
	struct histogram histogram = {.sum_ns = 0};
	(void)state;
	histogram_add(&histogram, 0);
	histogram_add(&histogram, 10000);
	histogram_add(&histogram, 10001);
	histogram_add(&histogram, UINT64_C(99000000000));
	assert_int_equal(histogram.counts[0], 2);
	assert_int_equal(histogram.counts[1], 1);
	assert_int_equal(histogram.counts[HISTOGRAM_BOUNDS], 1);
	assert_int_equal(histogram.sum_ns, UINT64_C(99000020001));
	for (int i = 1; i < HISTOGRAM_BOUNDS; i++)
		assert_true(histogram_bounds_ns[i] > histogram_bounds_ns[i - 1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_token_is_exchanged),
		cmocka_unit_test(test_new_tokens_stay),
		cmocka_unit_test(test_tokens_end_and_give_way),
		cmocka_unit_test(test_history),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_the_scrapers_token),
		cmocka_unit_test(test_histograms),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
