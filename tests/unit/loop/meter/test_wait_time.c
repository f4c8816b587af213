// SPDX-License-Identifier: MIT
/* What a reader waits for: every nanosecond is somebody's, and the right one's. */
#include <stdlib.h>
#include <string.h>

#include "loop/meter/wait_time.h"
#include "tests/unit/test.h"

static struct wait_time wait_from(enum wait_state state, uint64_t now_ns)
{
	struct wait_time wait = {0};
	wait_time_change(&wait, state, NULL, now_ns);
	return wait;
}

static void assert_ns(const struct wait_time *wait, uint64_t trainer, uint64_t storage,
		      uint64_t decode, uint64_t slot)
{
	const uint64_t wanted[] = {trainer, storage, decode, slot};
	for (int i = 0; i < WAIT_CAUSES; i++)
		assert_in_range(wait->ns[i], wanted[i] ? wanted[i] - 1 : 0, wanted[i] + 1);
}

static void trainer_slot_and_end(void **state)
{
	(void)state;
	struct wait_time wait = wait_from(WAIT_FOR_TRAINER, 1000);
	wait_time_change(&wait, WAIT_FOR_SLOT, NULL, 1100);
	wait_time_change(&wait, WAIT_FOR_SLOT, NULL, 1150);
	wait_time_change(&wait, WAIT_FOR_NOTHING, NULL, 1160);
	wait_time_change(&wait, WAIT_FOR_NOTHING, NULL, 9000);
	assert_ns(&wait, 100, 0, 0, 60);
}

/* It waits from 1000 to 1100; the sample is ordered, read and made at these times. */
static void assert_split(uint64_t ordered, uint64_t fetched, uint64_t storage, uint64_t decode)
{
	const struct wait_sample made = {ordered, fetched, 0};
	struct wait_time wait = wait_from(WAIT_FOR_BATCH, 1000);
	wait_time_change(&wait, WAIT_FOR_BATCH, NULL, 1050);
	assert_ns(&wait, 0, 0, 0, 0);
	wait_time_change(&wait, WAIT_FOR_TRAINER, &made, 1100);
	assert_ns(&wait, 0, storage, decode, 0);
}

static void a_batch_is_split(void **state)
{
	(void)state;
	assert_split(1000, 1080, 80, 20);
	assert_split(500, 1080, 80, 20);  /* ordered long before: what was done then is over */
	assert_split(500, 900, 0, 100);	  /* and its bytes were there */
	assert_split(1050, 1060, 20, 80); /* ordered late: waited for others like it */
	assert_split(1050, 1100, 100, 0); /* all of it reading */
	assert_split(1050, 1200, 100, 0); /* clocks of two threads */
	assert_split(1200, 1300, 0, 100); /* not of this wait at all */
	assert_split(1100, 1100, 0, 100);
}

/* Blocked in between: that part is the slot's, the rest is split by what was behind it. */
static void a_block_within(void **state)
{
	(void)state;
	const struct wait_sample made = {1200, 1250, 0};
	struct wait_time wait = wait_from(WAIT_FOR_BATCH, 1000);
	wait_time_change(&wait, WAIT_FOR_SLOT, NULL, 1100);
	wait_time_change(&wait, WAIT_FOR_BATCH, NULL, 1200);
	assert_int_equal(wait.batch_since_ns, 1200);
	assert_int_equal(wait.wants_since_ns, 1000); /* who was held has waited for longer */
	wait_time_change(&wait, WAIT_FOR_BATCH, &made, 1300);
	assert_int_equal(wait.wants_since_ns, 1300);
	assert_ns(&wait, 0, 100, 100, 100);
	wait_time_change(&wait, WAIT_FOR_TRAINER, &(struct wait_sample){1300, 1310, 0}, 1400);
	assert_ns(&wait, 0, 110, 190, 100);
}

static void shares(void **state)
{
	(void)state;
	double ns[WAIT_CAUSES] = {0};
	assert_string_equal(wait_time_shares(ns, "storage"), "");
	ns[WAIT_SLOT] = 30;
	ns[WAIT_DECODE] = 10;
	assert_string_equal(wait_time_shares(ns, "storage"), "slot");
	ns[WAIT_STORAGE] = 50;
	assert_string_equal(wait_time_shares(ns, "storage"), "storage");
	assert_string_equal(wait_time_shares(ns, "network"), "network");
	ns[WAIT_STORAGE] = 0;
	assert_string_equal(wait_time_shares(ns, "network"), "slot");
	assert_true(ns[WAIT_SLOT] == 0.75 && ns[WAIT_DECODE] == 0.25 && ns[WAIT_TRAINER] == 0);
}

/* What was long ago counts little. */
static void the_recent_counts(void **state)
{
	(void)state;
	const uint64_t second = 1000000000;
	struct wait_time wait = wait_from(WAIT_FOR_SLOT, 0);
	for (uint64_t i = 1; i <= 100; i++) {
		wait_time_change(&wait, i < 70 ? WAIT_FOR_SLOT : WAIT_FOR_TRAINER, NULL,
				 i * second);
		wait_time_tick(&wait, 1);
	}
	wait_time_change(&wait, WAIT_FOR_TRAINER, NULL, 105 * second); /* not ticked yet */
	double ns[WAIT_CAUSES] = {0};
	wait_time_add_recent(&wait, ns);
	assert_string_equal(wait_time_shares(ns, "storage"), "trainer");
	assert_true(ns[WAIT_TRAINER] > 0.9 && ns[WAIT_SLOT] > 0 && ns[WAIT_SLOT] < 0.1);
	assert_int_equal(wait.ns[WAIT_SLOT] / second, 70);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trainer_slot_and_end), cmocka_unit_test(a_batch_is_split),
		cmocka_unit_test(a_block_within),	cmocka_unit_test(shares),
		cmocka_unit_test(the_recent_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
