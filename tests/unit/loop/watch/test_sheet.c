// SPDX-License-Identifier: MIT
/* Which samples of a ring a sheet shows. */
#include "loop/watch/sheet.h"
#include "tests/unit/loop/fixture.h"
#include "tests/unit/test.h"

#define SLOTS (1 << 18)

/* Of a ring that has too many slots to look at all of them, those near who reads it. */
static void test_a_ring_of_many_slots(void **state)
{
	struct fixture *fixture = *state;
	struct writer sheet = WRITER_NULL, caption = WRITER_NULL;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct ring_claim claim;
	ring_claim(ring, &claim, 5);
	fixture_make(ring, 0, 20);
	fixture_make(ring, SLOTS - 4, SLOTS);
	assert_int_equal(sheet_write(&sheet, &fixture->core, fixture->stream->id, &caption), 0);
	assert_string_equal(caption.data, "epoch 0, position 8, to epoch 0, position 19");
	ring_unclaim(ring, &claim);
	writer_deinit(&sheet);
	writer_deinit(&caption);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_CASE(test_a_ring_of_many_slots),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
