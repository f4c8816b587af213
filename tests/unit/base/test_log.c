// SPDX-License-Identifier: MIT
/* The log: what is written of a line, what happens when it cannot be written, and how many lines a
 * user may cause. FAULTS 58. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/log_user.h"
#include "tests/unit/test.h"

static int terminal; /* the real stderr */
static int out;	     /* where the log can be read */
static char text[1 << 18];

static void put_back(void)
{
	dup2(terminal, STDERR_FILENO);
	close(terminal);
	close(out);
}

static void log_to(int fd, int reads)
{
	terminal = dup(STDERR_FILENO);
	dup2(fd, STDERR_FILENO);
	close(fd);
	out = reads;
	fcntl(out, F_SETFL, O_NONBLOCK);
	log_open();
}

static void log_to_pipe(void)
{
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	log_to(ends[1], ends[0]);
}

/* What was logged since the last look. */
static const char *logged(void)
{
	ssize_t size = read(out, text, sizeof(text) - 1);
	text[size > 0 ? size : 0] = '\0';
	return text;
}

static unsigned lines(void)
{
	unsigned count = 0;
	for (const char *at = text; *at; at++)
		count += *at == '\n';
	return count;
}

static int setup(void **state)
{
	(void)state;
	unsetenv("JOURNAL_STREAM");
	return 0;
}

static void test_a_line(void **state)
{
	(void)state;
	log_to_pipe();
	errno = ERANGE;
	log_warning("%d samples", 3);
	log_debug("not at this level");
	assert_int_equal(errno, ERANGE);
	assert_string_equal(logged(), "stokerd: 3 samples\n");
	setenv("JOURNAL_STREAM", "8:1", 1);
	log_warning("x");
	log_error("y");
	assert_string_equal(logged(), "<4>x\n<3>y\n");
	unsetenv("JOURNAL_STREAM");
	put_back();
}

static void test_json(void **state)
{
	const struct log_facts facts = {1000, 7, 3, 2, "a\"b\\c\nd\xff"};
	unsigned year, milliseconds;
	char rest_of[512];
	(void)state;
	log_to_pipe();
	log_set_format(LOG_FORMAT_JSON);
	log_about(&facts, LOG_LEVEL_WARNING, "file \"%s\"", "x\ty");
	assert_int_equal(sscanf(logged(),
				"{\"time\":\"%4u-%*2u-%*2uT%*2u:%*2u:%*2u.%3uZ\"%500[^\n]", &year,
				&milliseconds, rest_of),
			 3);
	assert_true(year >= 2024);
	assert_string_equal(rest_of, ",\"level\":\"warning\",\"message\":\"file \\\"x?y\\\"\","
				     "\"uid\":1000,\"reader\":7,\"stream\":3,\"dataset\":2,"
				     "\"job\":\"a\\\"b\\\\c?d?\"}");
	log_info("plain");
	assert_non_null(strstr(logged(), "\"level\":\"info\",\"message\":\"plain\"}\n"));
	log_set_format(LOG_FORMAT_TEXT);
	put_back();
}

/* Whole also where everything needs an escape, and cut between two characters. */
static void test_long_json(void **state)
{
	char message[3000], job[300];
	const struct log_facts facts = {1, UINT64_MAX, UINT64_MAX, UINT64_MAX, job};
	(void)state;
	memset(message, '\\', sizeof(message) - 1);
	memset(job, '"', sizeof(job) - 1);
	message[sizeof(message) - 1] = job[sizeof(job) - 1] = '\0';
	log_to_pipe();
	log_set_format(LOG_FORMAT_JSON);
	log_about(&facts, LOG_LEVEL_ERROR, "%s", message);
	const char *line = logged();
	size_t size = strlen(line);
	assert_true(size > 2400 && size < 4000);
	assert_string_equal(line + size - 3, "\"}\n");
	for (size_t i = 0; i + 2 < sizeof(message); i += 2)
		memcpy(message + i, "\xc3\xa4", 2);
	log_error("x%s", message);
	line = logged();
	assert_non_null(strstr(line, "\xc3\xa4\"}\n"));
	log_set_format(LOG_FORMAT_TEXT);
	put_back();
}

/* A journal that is here: a datagram with a field for each fact. When it goes, lines go to stderr.
 */
static void test_journal(void **state)
{
	const struct log_facts facts = {1000, 7, 0, 2, "job"};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char folder[] = "/tmp/stoker-log-XXXXXX";
	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/journal", folder);
	assert_true(log_open_journal(address.sun_path) < 0);
	int journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(journal, (struct sockaddr *)&address, sizeof(address)), 0);
	log_to_pipe();
	assert_int_equal(log_open_journal(address.sun_path), 0);
	log_about(&facts, LOG_LEVEL_WARNING, "one\nMESSAGE=two");
	ssize_t size = recv(journal, text, sizeof(text) - 1, 0);
	assert_true(size > 0);
	text[size] = '\0';
	assert_string_equal(text, "MESSAGE=one?MESSAGE=two\nPRIORITY=4\nSYSLOG_IDENTIFIER=stokerd\n"
				  "STOKER_UID=1000\nSTOKER_READER=7\nSTOKER_DATASET=2\n"
				  "STOKER_JOB=job\n");
	assert_string_equal(logged(), "");
	close(journal);
	log_warning("gone");
	assert_string_equal(logged(), "stokerd: gone\n");
	unlink(address.sun_path);
	rmdir(folder);
	put_back();
}

/* Terminals obey C1 controls (0x9b is ESC [), as a byte and as UTF-8. Letters stay. */
static void test_control_bytes(void **state)
{
	(void)state;
	log_to_pipe();
	log_warning("%s", "a\nb\x1b[31m\x7f");
	assert_string_equal(logged(), "stokerd: a?b?[31m?\n");
	log_warning("%s", "\x9b"
			  "31m \x80 \x9f");
	assert_string_equal(logged(), "stokerd: ?31m ? ?\n");
	log_warning("%s", "\xc2\x9b"
			  "31m \xc2\x85 \xc2\xa0");
	assert_string_equal(logged(), "stokerd: ??31m ?? \xc2\xa0\n");
	log_warning("%s", "\xc3\xbc\xe2\x82\xac\xf0\x9f\x8d\x9b \xe2\x82");
	assert_string_equal(logged(), "stokerd: \xc3\xbc\xe2\x82\xac\xf0\x9f\x8d\x9b ??\n");
	put_back();
}

static void test_a_long_line_is_cut(void **state)
{
	char name[3000];
	(void)state;
	log_to_pipe();
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	log_warning("%s", name);
	assert_int_equal(strlen(logged()), 1023);
	assert_int_equal(lines(), 1);
	put_back();
}

/* The sum of what the lines in `text` say was dropped. */
static uint64_t said(void)
{
	uint64_t sum = 0;
	for (const char *at = text; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
		unsigned long long count;
		if (strncmp(at, "stokerd: ", 9) == 0 && strstr(at, "were dropped") &&
		    strstr(at, "were dropped") < strchr(at, '\n') &&
		    sscanf(at, "stokerd: %llu", &count) == 1)
			sum += count;
	}
	return sum;
}

static void check_unread(void)
{
	uint64_t before = log_dropped();
	for (int i = 0; i < 5000; i++)
		log_warning("line %d %0400d", i, i);
	uint64_t dropped = log_dropped() - before;
	assert_true(dropped > 1000);
	(void)logged();
	uint64_t told = said();
	log_tick();
	log_warning("after");
	assert_non_null(strstr(logged(), "stokerd: after\n"));
	assert_int_equal(told + said(), dropped);
	assert_int_equal(log_dropped() - before, dropped);
	log_warning("later");
	log_tick();
	assert_string_equal(logged(), "stokerd: later\n");
}

/* Nobody reads: no call waits, and the log says how many lines are missing. */
static void test_a_pipe_that_nobody_reads(void **state)
{
	(void)state;
	log_to_pipe();
	check_unread();
	put_back();
}

/* The journal is a stream socket: a line may be written in part. */
static void test_a_journal_that_hangs(void **state)
{
	int ends[2], small = 4096;
	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	log_to(ends[0], ends[1]);
	check_unread();
	put_back();
}

/* The open file is shared with others: the log's own must not change how theirs behaves. */
static void test_others_still_wait(void **state)
{
	int ends[2];
	(void)state;
	assert_int_equal(pipe(ends), 0);
	int other = dup(ends[1]);
	log_to(ends[1], ends[0]);
	assert_false(fcntl(other, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK);
	close(other);
	put_back();
}

static void test_a_full_disk(void **state)
{
	(void)state;
	uint64_t before = log_dropped();
	log_to(open("/dev/full", O_WRONLY), open("/dev/null", O_RDONLY));
	log_warning("lost");
	assert_int_equal(log_dropped(), before + 1);
	put_back();
	log_to_pipe();
	log_tick();
	assert_non_null(strstr(logged(), "stokerd: 1 lines were dropped"));
	put_back();
}

/* One user's noise leaves room for another's lines, and is counted. */
static void test_a_user_has_twenty_lines(void **state)
{
	(void)state;
	log_to_pipe();
	for (int i = 0; i < 44; i++)
		log_user(1001, LOG_CLIENTS, LOG_LEVEL_WARNING, "noise");
	log_user(1002, LOG_CLIENTS, LOG_LEVEL_WARNING, "signal");
	log_user(1001, LOG_DATASETS, LOG_LEVEL_INFO, "of another kind");
	log_user(1003, LOG_CLIENTS, LOG_LEVEL_DEBUG, "not at this level");
	(void)logged();
	assert_int_equal(lines(), 22);
	assert_non_null(strstr(text, "signal"));
	log_user_tick(clock_ns());
	assert_string_equal(logged(), "");
	log_user_tick(UINT64_MAX / 2);
	assert_string_equal(
		logged(), "stokerd: 24 more lines about the clients of user 1001 were left out\n");
	log_user(1001, LOG_CLIENTS, LOG_LEVEL_WARNING, "again");
	assert_string_equal(logged(), "stokerd: again\n");
	log_user_tick(UINT64_MAX / 2);
	put_back();
}

/* As many users as one likes: the table has an end, and nobody in it is forgotten. */
static void test_many_users(void **state)
{
	(void)state;
	log_to_pipe();
	for (int i = 0; i < 30; i++)
		log_user(1, LOG_CLIENTS, LOG_LEVEL_WARNING, "first");
	(void)logged();
	for (uid_t uid = 2; uid < 80; uid++)
		log_user(uid, LOG_CLIENTS, LOG_LEVEL_WARNING, "other");
	(void)logged();
	assert_int_equal(lines(), 78 + 1);
	assert_non_null(strstr(text, "10 more lines about the clients of user 1 were left out"));
	log_user_tick(UINT64_MAX / 2);
	put_back();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_line),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_long_json),
		cmocka_unit_test(test_control_bytes),
		cmocka_unit_test(test_a_long_line_is_cut),
		cmocka_unit_test(test_a_pipe_that_nobody_reads),
		cmocka_unit_test(test_a_journal_that_hangs),
		cmocka_unit_test(test_others_still_wait),
		cmocka_unit_test(test_a_full_disk),
		cmocka_unit_test(test_a_user_has_twenty_lines),
		cmocka_unit_test(test_many_users),
		cmocka_unit_test(test_journal), /* the last: its socket stays */
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
