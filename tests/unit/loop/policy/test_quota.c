// SPDX-License-Identifier: MIT
/* Quotas: descriptors are somebody's as long as the daemon holds them. */
#include "tests/unit/loop/fixture.h"

#include "loop/policy/quota.h"

/* A dataset that stays open when its user has left counts, for that user and against others. */
static void test_what_is_left_open(void **state)
{
	struct fixture *fixture = *state;
	struct core *core = &fixture->core;
	struct fault fault;
	uid_t before = fixture->entry->uid;
	uint64_t spare = core->fd_limit;
	core->fd_limit = 1000;
	core->fd_limit += 1000 - quota_all_descriptors(core); /* so many are to be had */
	assert_int_equal(quota_all_descriptors(core), 1000);
	assert_int_equal(quota_descriptors(core, 0, 999, &fault), 0);
	assert_int_not_equal(quota_descriptors(core, 0, 1000, &fault), 0); /* root's own is open */
	assert_int_equal(quota_descriptors(core, ALICE, 499, &fault), 0);
	assert_int_not_equal(quota_descriptors(core, ALICE, 500, &fault), 0); /* half of the rest */
	fixture->entry->uid = ALICE; /* of whom there is nothing else */
	assert_int_equal(quota_descriptors(core, 0, 999, &fault), 0);
	assert_int_not_equal(quota_descriptors(core, 0, 1000, &fault), 0);
	assert_int_equal(quota_descriptors(core, ALICE, 499, &fault), 0);
	assert_int_not_equal(quota_descriptors(core, ALICE, 500, &fault), 0);
	fixture->entry->uid = before;
	core->fd_limit = spare;
}

int main(void)
{
	const struct CMUnitTest tests[] = {FIXTURE_CASE(test_what_is_left_open)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
