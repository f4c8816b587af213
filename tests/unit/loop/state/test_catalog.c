// SPDX-License-Identifier: MIT
/* The catalog: how long a dataset stays open whose pictures were decoded for those to come. */
#include "tests/unit/loop/fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECOND ((uint64_t)1000000000)
#define KEPT (600 * SECOND)
#define BEGIN (1000 * SECOND)

static bool is_open(const struct fixture *fixture, const char *path)
{
	list_for_each(entry, next, &fixture->core.datasets, struct dataset_entry, link)
		if (strcmp(entry->spec.path, path) == 0)
			return true;
	return false;
}

/* Another name of the fixture's dataset, which is a dataset of its own. */
static void name_of(const struct fixture *fixture, unsigned number, char name[64])
{
	snprintf(name, 64, "%s.%u.npy", fixture->path, number);
	if (access(name, F_OK) < 0)
		assert_int_equal(symlink(fixture->path, name), 0);
}

/* Warmed, and used by nobody. */
static void warm(struct fixture *fixture, const char *name, uint64_t now_ns)
{
	struct dataset_entry *entry = fixture_dataset(fixture, name);
	assert_non_null(entry->dataset);
	catalog_keep_warm(entry, now_ns);
	catalog_release(entry);
}

static void test_ten_minutes_after_the_last_user(void **state)
{
	struct fixture *fixture = *state;
	char name[64];
	name_of(fixture, 0, name);
	warm(fixture, name, BEGIN);
	catalog_tick(&fixture->core, BEGIN + KEPT - 1);
	assert_true(is_open(fixture, name));
	struct dataset_entry *entry = fixture_dataset(fixture, name);
	catalog_tick(&fixture->core, BEGIN + KEPT + 300 * SECOND); /* somebody uses it */
	catalog_release(entry);
	catalog_tick(&fixture->core, BEGIN + KEPT + 300 * SECOND + KEPT - 1);
	assert_true(is_open(fixture, name));
	catalog_tick(&fixture->core, BEGIN + KEPT + 300 * SECOND + KEPT);
	assert_false(is_open(fixture, name));
	unlink(name);
}

static void test_what_ends_it_sooner(void **state)
{
	struct fixture *fixture = *state;
	char name[64];
	name_of(fixture, 0, name);
	warm(fixture, name, BEGIN);
	struct dataset_entry *entry = fixture_dataset(fixture, name);
	catalog_cool(entry);
	catalog_cool(entry); /* twice will do */
	catalog_release(entry);
	assert_false(is_open(fixture, name));
	warm(fixture, name, BEGIN);
	fixture->core.stopping = true;
	catalog_tick(&fixture->core, BEGIN);
	assert_false(is_open(fixture, name));
	unlink(name);
}

/* Of those that nobody uses; one in use does not count. */
static void test_the_oldest_goes_for_one_too_many(void **state)
{
	struct fixture *fixture = *state;
	char name[64], used[64];
	name_of(fixture, 99, used);
	struct dataset_entry *entry = fixture_dataset(fixture, used);
	catalog_keep_warm(entry, BEGIN);
	for (unsigned i = 0; i < CATALOG_WARM_MOST + 3; i++) {
		name_of(fixture, i, name);
		warm(fixture, name, BEGIN + i);
	}
	for (unsigned i = 0; i < CATALOG_WARM_MOST + 3; i++) {
		name_of(fixture, i, name);
		assert_int_equal(is_open(fixture, name), i >= 3);
		unlink(name);
	}
	assert_true(is_open(fixture, used));
	catalog_release(entry);
	catalog_tick(&fixture->core, BEGIN + 2 * KEPT);
	name_of(fixture, 3, name);
	assert_false(is_open(fixture, name));
	unlink(name);
	assert_false(is_open(fixture, used));
	unlink(used);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_CASE(test_ten_minutes_after_the_last_user),
		FIXTURE_CASE(test_what_ends_it_sooner),
		FIXTURE_CASE(test_the_oldest_goes_for_one_too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
