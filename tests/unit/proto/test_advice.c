/* SPDX-License-Identifier: MIT */
/* Advice from figures: it never asks for more of what is idle, and names what there is. */
#include <string.h>

#include "proto/advice/limit.h"
#include "proto/advice/trouble.h"
#include "proto/counter.h"
#include "tests/unit/test.h"

static char advice[512];

static void assert_advice(enum limit limit, const struct load *load, const char *words)
{
	limit_advice(limit, load, advice, sizeof(advice));
	if (!strstr(advice, words))
		fail_msg("no '%s' in '%s'", words, advice);
}

static void test_names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LIMIT_COUNT; i++) {
		assert_int_equal(limit_of_name(limit_name((enum limit)i)), i);
		assert_true(strlen(limit_words((enum limit)i)) > 10);
	}
	assert_int_equal(limit_of_name(""), LIMIT_COUNT);
	assert_int_equal(limit_of_name("none"), LIMIT_COUNT);
}

static void test_workers(void **state)
{
	struct load load = {.workers = 2, .processors = 8, .workers_busy = 0.98};
	(void)state;
	assert_advice(LIMIT_DECODE, &load, "set workers 8: 6 processors have no worker");
	load.processors = 3;
	assert_advice(LIMIT_DECODE, &load, "set workers 3: 1 processor has no worker");
	load.processors = 8;
	load.workers_auto = true;
	assert_advice(LIMIT_DECODE, &load, "workers = auto adds workers");
	load.processors = 2.5; /* a quota: half of one is none */
	load.workers_auto = false;
	assert_advice(LIMIT_DECODE, &load, "every processor has a worker: use draft=True");
	load.index_full = true;
	assert_advice(LIMIT_DECODE, &load, "a larger index-memory");
	load.transform = 0.8;
	assert_advice(LIMIT_DECODE, &load, "Normalize on the device");
	assert_advice(LIMIT_TRANSFORM, &load, "Normalize on the device");
}

/* Idle threads, as many as there are processors or fewer: more of them change nothing. */
static void test_idle_threads(void **state)
{
	(void)state;
	for (double processors = 1; processors <= 16; processors += 5) {
		const struct load load = {.workers = 2,
					  .fetchers = 4,
					  .workers_busy = 0.36,
					  .fetchers_busy = 0.1,
					  .processors = processors};
		assert_advice(LIMIT_DECODE, &load, "workers are idle 64 % of their time");
		assert_null(strstr(advice, "set workers"));
		assert_advice(LIMIT_STORAGE, &load, "fetchers are idle 90 % of their time");
		assert_null(strstr(advice, "set fetchers"));
	}
}

static void test_fetchers(void **state)
{
	struct load load = {.fetchers = 4, .fetchers_busy = 0.9};
	(void)state;
	assert_advice(LIMIT_STORAGE, &load, "set fetchers 8, if the storage can");
	assert_advice(LIMIT_NETWORK, &load, "set fetchers 8, if the server can");
	assert_advice(LIMIT_NETWORK, &load, "cache-dir");
	load.fetchers_auto = true;
	assert_advice(LIMIT_STORAGE, &load, "auto has added what helps: faster storage");
}

static const struct trouble *trouble_of(enum counter counter)
{
	for (unsigned i = 0; i < trouble_count; i++)
		if (troubles[i].counter == counter)
			return &troubles[i];
	fail_msg("nothing is said of %s", counter_facts[counter].name);
	return NULL;
}

static void test_troubles(void **state)
{
	static const enum counter folders[] = {COUNTER_INDEX_DIR_OFF,	  COUNTER_INDEX_DIR_REFUSED,
					       COUNTER_INDEX_DIR_FULL,	  COUNTER_CACHE_DIR_OFF,
					       COUNTER_CACHE_DIR_REFUSED, COUNTER_CACHE_DIR_FULL};
	char text[160];
	(void)state;
	trouble_write(trouble_of(COUNTER_STUCK_READS), 12345678901234567890u, text, sizeof(text));
	assert_string_equal(text, "12345678901234567890 reads hang for more than 5 s");
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		trouble_write(trouble_of(folders[i]), 1, text, sizeof(text));
		assert_non_null(strstr(text, "-dir"));
	}
	for (unsigned i = 0; i < trouble_count; i++) {
		trouble_write(&troubles[i], UINT64_MAX, text, sizeof(text));
		assert_true(strlen(text) < sizeof(text) - 1 && !strchr(text, '#'));
		assert_true(strlen(troubles[i].advice) > 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	     cmocka_unit_test(test_workers),
		cmocka_unit_test(test_idle_threads), cmocka_unit_test(test_fetchers),
		cmocka_unit_test(test_troubles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
