/* SPDX-License-Identifier: MIT */
/* The output of stokerctl: values, tables, JSON of bytes that are not UTF-8, "did you mean". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/ctl/command.h"
#include "client/ctl/json.h"
#include "client/ctl/nearest.h"
#include "client/ctl/show/history.h"
#include "client/ctl/show/report.h"
#include "client/ctl/show/table.h"
#include "client/ctl/show/unit.h"
#include "tests/unit/test.h"
#include "tests/unit/values.h"

/* Takes the reference. */
static void writes(json_t *value, enum unit unit, const char *expected)
{
	char out[64];
	unit_write(value, unit, out, sizeof(out));
	assert_string_equal(out, expected);
	json_decref(value);
}

static void test_units(void **state)
{
	(void)state;
	writes(json_integer(0), UNIT_BYTES, "0 B");
	writes(json_integer(1023), UNIT_BYTES, "1023 B");
	writes(json_integer(161061273), UNIT_BYTES, "153.6 MiB");
	writes(json_integer(INT64_MAX), UNIT_BYTES, "8.0 EiB");
	writes(json_real(0.9314), UNIT_SHARE, "93.1 %");
	writes(json_integer(0), UNIT_SECONDS, "0 s");
	writes(json_real(0.000083), UNIT_SECONDS, "83 us");
	writes(json_real(0.25), UNIT_SECONDS, "250 ms");
	writes(json_real(12.34), UNIT_SECONDS, "12.3 s");
	writes(json_integer(125), UNIT_SECONDS, "2 min 05 s");
	writes(json_integer(7500), UNIT_SECONDS, "2 h 05 min");
	writes(json_integer(90000), UNIT_SECONDS, "1 d 01 h");
	writes(json_real(1e300), UNIT_SECONDS, "11574074074 d 01 h");
	writes(json_integer(1500000000), UNIT_NS, "1.5 s");
	writes(json_real(1234.56), UNIT_RATE, "1234.6");
	writes(json_integer(0), UNIT_REFERENCE, "-");
	writes(json_integer(3), UNIT_REFERENCE, "3");
	writes(json_integer(-3), UNIT_NONE, "-3");
	writes(json_integer(-3), UNIT_BYTES, "-");
	writes(json_true(), UNIT_NONE, "yes");
	writes(json_null(), UNIT_NONE, "-");
	writes(NULL, UNIT_NONE, "-");
	writes(json_string(""), UNIT_NONE, "-");
	writes(json_array(), UNIT_NONE, "-");
}

/* FAULTS 70: a file name must not send control characters to the terminal. */
static void test_texts_on_a_terminal(void **state)
{
	char out[8];
	json_t *text = json_string("größe");
	(void)state;
	writes(json_string("a\nb\tc"), UNIT_NONE, "a\\nb\\tc");
	writes(json_string("\x1b[31mred\x7f"), UNIT_NONE, "\\x1b[31mred\\x7f");
	writes(json_string("\xc2\x9b"
			   "31m"),
	       UNIT_NONE, "\\x9b31m");
	writes(json_string("größe \xf0\x9f\x90\x88"), UNIT_NONE, "größe \xf0\x9f\x90\x88");
	unit_write(text, UNIT_NONE, out, 5); /* never half a character */
	assert_string_equal(out, "grö");
	assert_int_equal(unit_columns("größe"), 5);
	json_decref(text);
}

static void becomes(const char *bytes, size_t size, const char *expected)
{
	json_t *json = json_of_text((struct text){bytes, size});
	assert_string_equal(json_string_value(json), expected);
	json_decref(json);
}

#define LOST "\xef\xbf\xbd"

static void test_texts_that_are_no_utf8(void **state)
{
	(void)state;
	becomes("plain", 5, "plain");
	becomes("gr\xc3\xb6\xc3\x9f", 6, "größ");
	becomes("a\xff"
		"b",
		3, "a" LOST "b");
	becomes("a\0b", 3, "a" LOST "b");
	becomes("\xc3", 1, LOST);
	becomes("\xe2\x82", 2, LOST LOST);
	becomes("\xc0\x80", 2, LOST LOST); /* longer than it need be */
	becomes("\xe0\x80\x80", 3, LOST LOST LOST);
	becomes("\xed\xa0\x80", 3, LOST LOST LOST); /* half a surrogate pair */
	becomes("\xf4\x90\x80\x80", 4, LOST LOST LOST LOST);
	becomes("\xf4\x8f\xbf\xbf", 4, "\xf4\x8f\xbf\xbf");
}

static void test_trees(void **state)
{
	const struct value map =
		MAP(KEY("big", UINT(UINT64_MAX)), KEY("small", SINT(-7)),
		    KEY("li\xffst", LIST(NIL, REAL(0.5))), KEY("yes", BOOLEAN(true)));
	json_t *json = json_of(&map);
	char *text = json_dumps(json, JSON_COMPACT);
	(void)state;
	assert_string_equal(text, "{\"big\":\"18446744073709551615\",\"small\":-7,"
				  "\"li" LOST "st\":[null,0.5],\"yes\":true}");
	free(text);
	json_decref(json);
}

static char *table_text(const char *items)
{
	char *text;
	size_t size;
	json_t *json = json_loads(items, 0, NULL);
	FILE *file = open_memstream(&text, &size);
	table_print(file, json, ROW_READER, "reader job rank/world age_s waits_for state", false);
	fclose(file);
	json_decref(json);
	return text;
}

static void test_history(void **state)
{
	struct history history = {.count = 0};
	char *text;
	size_t size;
	(void)state;
	assert_true(history_highest(&history) <= 0);
	history_add(&history, 999); /* falls out */
	for (int i = 0; i < HISTORY_MOST; i++)
		history_add(&history, i == 0 ? -1 : i == 1 ? 1 : i == 2 ? 400 : 800);
	FILE *file = open_memstream(&text, &size);
	history_print(file, &history, false);
	fputc('|', file);
	history_print(file, &history, true);
	fclose(file);
	assert_memory_equal(text, " _~##", 5);
	assert_int_equal(strchr(text, '|') - text, HISTORY_MOST);
	assert_memory_equal(strchr(text, '|'), "| \xe2\x96\x81\xe2\x96\x84\xe2\x96\x88", 11);
	free(text);
	setenv("LC_ALL", "C", 1);
	assert_false(history_terminal_is_utf8());
	setenv("LC_ALL", "de_DE.utf8", 1);
	assert_true(history_terminal_is_utf8());
	unsetenv("LC_ALL");
}

static void test_tables(void **state)
{
	(void)state;
	char *text = table_text("[{\"reader\":7,\"age_s\":60.5,\"job\":\"größe\",\"rank\":0,"
				"\"world\":8,\"state\":\"a b\"},"
				"{\"reader\":12345,\"job\":\"b\",\"rank\":1,\"world\":8}]");
	assert_string_equal(text, "READER  JOB    RANK         AGE  STATE\n"
				  "     7  größe   0/8  1 min 00 s  a b\n"
				  " 12345  b       1/8           -  -\n");
	free(text);
	text = table_text("[]"); /* a title of its own, the key in capitals */
	assert_string_equal(text, "READER  JOB  RANK  AGE  FOR  STATE\n");
	free(text);
}

static void test_a_report(void **state)
{
	char *text;
	size_t size;
	json_t *values = json_pack("{sssIsssIsIsI}", "version", "1.2", "uptime_s", (json_int_t)60,
				   "state", "running", "ring_bytes", (json_int_t)2048, "workers",
				   (json_int_t)4, "a_new_one", (json_int_t)9);
	FILE *file = open_memstream(&text, &size);
	(void)state;
	report_print(file, values, false);
	fclose(file);
	assert_non_null(strstr(text, "stokerd 1.2, running for 1 min 00 s, pid -, -\n"));
	assert_non_null(strstr(text, "\nwork\n  workers"));
	assert_non_null(strstr(text, "2.0 KiB   memory of all rings\n"));
	assert_non_null(strstr(text, "\nothers\n  a_new_one"));
	assert_null(strstr(text, "trouble")); /* nothing of it came */
	json_decref(values);
	free(text);
}

static void test_did_you_mean(void **state)
{
	(void)state;
	assert_int_equal(nearest_distance("status", "status"), 0);
	assert_int_equal(nearest_distance("stauts", "status"), 1); /* a swap is one */
	assert_int_equal(nearest_distance("", "ping"), 4);
	assert_int_equal(nearest_distance("kitten", "sitting"), 3);
	assert_int_equal(nearest_distance("averyveryverylongword", "x"), NEAREST_FAR);
	assert_true(nearest_is_like("reader", "readers"));
	assert_true(nearest_is_like("st", "stop"));
	assert_true(nearest_is_like("pign", "ping"));
	assert_false(nearest_is_like("x", "set"));
	assert_false(nearest_is_like("destroy", "stop"));
	assert_non_null(command_find("status"));
	assert_null(command_find("statu"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_texts_on_a_terminal),
		cmocka_unit_test(test_texts_that_are_no_utf8),
		cmocka_unit_test(test_trees),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_history),
		cmocka_unit_test(test_a_report),
		cmocka_unit_test(test_did_you_mean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
