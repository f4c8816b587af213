// SPDX-License-Identifier: MIT
/* The configuration read again: what is exchanged, what is said, and that a wrong file changes
 * nothing. FAULTS 29, 31. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "config/option.h"
#include "config/reload.h"
#include "tests/unit/test.h"

static char file[] = "/tmp/stoker-reload-XXXXXX";
static struct fault fault;

static void put(const char *text)
{
	FILE *out = fopen(file, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static const char *origin(const struct config *config, const char *name)
{
	return config->origins[option_row(option_find(name, &fault))];
}

static void count(void *context, const struct reload_change *change)
{
	unsigned *counts = context;
	counts[change->in_force]++;
	assert_string_not_equal(change->before, change->after);
	assert_int_equal(change->was_set, strcmp(change->name, "workers") == 0);
}

/* What differs is live and exchanged, or is said to need a restart. A flag stays above the file.
 * An exchange twice is none. */
static void test_exchange(void **state)
{
	(void)state;
	struct config config, other;
	char *flags[] = {"stokerd", "--config", file, "--fetchers=3", NULL};
	put("[stokerd]\nworkers = 3\nmax-scans = 7\n");
	assert_int_equal(config_load(&config, 4, flags, &fault), 0);
	assert_int_equal(config_set(&config, "workers", "9", &fault), 0);

	put("[stokerd]\nworkers = 4\nmax-scans = 8\nfetchers = 4\nlog-level = debug\n");
	assert_int_equal(config_reload(&other, &config, &fault), 0);
	reload_take(&config, &other);
	assert_int_equal(config.max_scans, 7);
	assert_int_equal(config.fetchers, 3);
	assert_int_equal(config.workers, 4);
	assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
	assert_non_null(strstr(origin(&config, "workers"), ":2"));
	unsigned counts[2] = {0, 0};
	reload_compare(&config, &other, count, counts);
	assert_int_equal(counts[true], 2);
	assert_int_equal(counts[false], 1);

	reload_take(&config, &other);
	assert_int_equal(config.workers, 9);
	assert_string_equal(origin(&config, "workers"), CONFIG_SET);
	assert_int_equal(config.log_level, LOG_LEVEL_INFO);
	config_deinit(&other);
	config_deinit(&config);
}

static void test_a_wrong_file(void **state)
{
	(void)state;
	struct config config, other;
	char *flags[] = {"stokerd", "--config", file, NULL}, words[96];
	put("[stokerd]\nworkers = 3\n");
	assert_int_equal(config_load(&config, 3, flags, &fault), 0);
	put("[stokerd]\nworkers = 5\n\nworkers = 6\n");
	assert_int_equal(config_reload(&other, &config, &fault), CONFIG_E_BAD);
	snprintf(words, sizeof(words), "%s:4: workers is set already, in line 2", file);
	assert_string_equal(fault.text, words);
	unlink(file);
	assert_int_equal(config_reload(&other, &config, &fault), CONFIG_E_BAD);
	assert_int_equal(config.workers, 3);
	config_deinit(&config);
}

static int setup(void **state)
{
	char name[64];
	(void)state;
	for (unsigned i = 0; i < option_count; i++)
		unsetenv(option_variable(&options[i], name));
	setenv("LISTEN_FDS", "2", 1); /* no folder is made */
	return close(mkstemp(file));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exchange),
		cmocka_unit_test(test_a_wrong_file),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
