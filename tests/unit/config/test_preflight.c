// SPDX-License-Identifier: MIT
/*
 * stokerd --check: folders and sockets.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "tests/unit/test.h"

/* --check looks for what the daemon would not start without, and creates nothing. */
static void test_check_places(void **state)
{
	(void)state;
	static const struct {
		const char *flags[2], *words; /* NULL: all is well */
	} cases[] = {
		{{"%s/s"}, NULL},
		{{"%s/lost/s"}, "lost: there is no such folder: make it"},
		{{"%s/file/s"}, "file: it is not a folder"},
		{{"%s/file"}, "file: something else than a socket is there"},
		{{"%s"}, "something else than a socket is there"},
		{{"%s/s", "--control-socket=%s/lost/c"}, "control-socket: "},
		{{"%s/s", "--control-socket=%s/s"}, "control-socket is the socket of the trainers"},
		{{"%s/s", "--index-dir=%s/lost"}, "index-dir: "},
		{{"%s/s", "--index-dir=%s"}, NULL},
		{{"%s/s", "--cache-dir=%s/lost"}, "cache-dir: "},
	};
	struct fault fault;
	char home[] = "/tmp/stoker-check-XXXXXX", path[64];
	assert_non_null(mkdtemp(home));
	snprintf(path, sizeof(path), "%s/file", home);
	FILE *empty = fopen(path, "w");
	assert_non_null(empty);
	fclose(empty);
	setenv("STOKER_CONFIG", "/dev/null", 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char texts[2][128];
		char *arguments[] = {"stokerd", "--check", "--socket", texts[0], texts[1], NULL};
		int count = cases[i].flags[1] ? 5 : 4;
		struct config config;
		for (int n = 0; n < count - 3; n++) {
			const char *flag = cases[i].flags[n], *at = strstr(flag, "%s");
			snprintf(texts[n], sizeof(texts[n]), "%.*s%s%s", (int)(at - flag), flag,
				 home, at + 2);
		}
		print_message("%s\n", texts[count - 4]);
		assert_int_equal(config_load(&config, count, arguments, &fault),
				 cases[i].words ? CONFIG_E_BAD : CONFIG_DONE);
		if (cases[i].words)
			assert_non_null(strstr(fault.text, cases[i].words));
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(home), 0); /* nothing was created */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
