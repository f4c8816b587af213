// SPDX-License-Identifier: MIT
/* The step, with a pool of one worker and a client that is a list of messages: batches come in
 * order and hold their samples, credit and ends are respected, and what nobody needs is freed. */
#include "tests/unit/loop/fixture.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/engine/job_queue.h"
#include "loop/engine/loop_step.h"
#include "loop/engine/membership.h"
#include "loop/engine/wake.h"
#include "loop/state/outbox.h"
#include "work/pool.h"

#define SLOTS 16
#define SENT_MAX 64

static struct job_queue jobs;

/* What a client was sent. */
static struct client {
	struct outbox outbox;
	struct message sent[SENT_MAX];
	unsigned count;
} client;

static void on_send(struct outbox *outbox, const struct message *message, int fd)
{
	(void)outbox;
	(void)fd;
	assert_true(client.count < SENT_MAX);
	client.sent[client.count++] = *message;
}

static bool is_read(const struct outbox *outbox)
{
	(void)outbox;
	return true;
}

static atomic_uint wakes;

static void wake(void *context)
{
	(void)context;
	atomic_fetch_add(&wakes, 1);
}

static int setup(void **state)
{
	const struct pool_config config = {.workers = 1, .fetchers = 1, .wake = wake};
	if (fixture_setup(state))
		return -1;
	struct core *core = &((struct fixture *)*state)->core;
	wakes = 0;
	client = (struct client){.outbox = {.send = on_send, .is_read = is_read}};
	job_queue_init(&jobs);
	core->jobs = &jobs;
	return pool_new(&core->pool, &config);
}

/* One iteration of the loop. */
static void turn(struct core *core)
{
	loop_step(core);
	usleep(200);
	uv_run(core->tasks.loop, UV_RUN_NOWAIT);
}

static int teardown(void **state)
{
	struct core *core = &((struct fixture *)*state)->core;
	list_for_each(reader, next, &core->readers, struct reader, in_core)
		membership_leave(reader);
	while (core->counters[COUNTER_QUEUED] || !list_empty(&core->touched))
		turn(core);
	pool_free(core->pool);
	job_queue_deinit(&jobs);
	return fixture_teardown(state);
}

/* Until the client was sent so many messages, or more. */
static void run_until_sent(struct core *core, unsigned count)
{
	for (int i = 0; client.count < count && i < 20000; i++)
		turn(core);
	assert_true(client.count >= count);
}

/* Until nothing is under way. */
static void run_on(struct core *core)
{
	do
		turn(core);
	while (core->counters[COUNTER_QUEUED]);
	turn(core);
	turn(core);
}

static struct reader_request four(void)
{
	return (struct reader_request){
		.share = {.n = SAMPLES, .batch_size = 4, .world = 1},
		.priority = FLOW_WEIGHT_DEFAULT,
		.ring_request = {.uid = ALICE, .fd = true, .inflight = 2},
	};
}

static struct reader *join(struct fixture *fixture, struct ring *ring,
			   const struct reader_request *request)
{
	struct reader *reader;
	assert_int_equal(
		membership_join(&reader, ring, request, ALICE, &client.outbox, &fixture->book), 0);
	return reader;
}

static const struct message_batch *batch(unsigned number)
{
	assert_int_equal(client.sent[number].kind, MESSAGE_BATCH);
	return &client.sent[number].batch;
}

/* As RELEASE does it. */
static void release(struct fixture *fixture, uint64_t id)
{
	struct lease *lease = lease_find(&fixture->book, id);
	assert_non_null(lease);
	struct reader *reader = lease->reader;
	lease_drop(lease);
	if (reader)
		reader_touch(reader);
}

/* -- batches ------------------------------------------------------------------------------ */

static void assert_holds(const struct ring *ring, const struct message_batch *batch)
{
	assert_int_equal(batch->runs.n, 1);
	for (uint32_t i = 0; i < batch->count; i++) {
		uint32_t slot = batch->runs.run[0].slot + i;
		uint64_t sample = (batch->position + i) % SAMPLES;
		uint8_t picture[12];
		int64_t index;
		memset(picture, (int)sample, sizeof(picture));
		memcpy(&index, segment_at(&ring->segment, FIELD_INDEX, slot), sizeof(index));
		assert_memory_equal(segment_at(&ring->segment, FIELD_IMAGE, slot), picture, 12);
		assert_int_equal(index, sample);
	}
}

static void batches_come_in_order(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	const struct reader_request request = four();
	join(fixture, ring, &request);
	for (unsigned i = 0; i < 20; i++) { /* into the second epoch, five times round the ring */
		run_until_sent(&fixture->core, i + 1);
		assert_int_equal(batch(i)->epoch, i / 16);
		assert_int_equal(batch(i)->position, i % 16 * 4);
		assert_int_equal(batch(i)->count, 4);
		assert_holds(ring, batch(i));
		release(fixture, batch(i)->lease);
	}
	assert_int_equal(fixture->core.counters[COUNTER_BATCHES_DELIVERED], client.count);
	assert_true(fixture->core.counters[COUNTER_SAMPLES_BAD] == 0);
}

/* Until the pool has made all that was ordered, none of which the loop has taken. */
static void wait_until_made(struct core *core)
{
	for (int i = 0; i < 50000; i++) {
		usleep(200);
		atomic_store(&wakes, 0);
		pool_wake_at(core->pool, (unsigned)core->counters[COUNTER_QUEUED]);
		if (atomic_load(&wakes))
			return;
	}
	fail();
}

/* However late the loop takes what is made. */
static void ready_is_when_it_was_made(void **state)
{
	struct fixture *fixture = *state;
	struct core *core = &fixture->core;
	const struct reader_request request = four();
	uint64_t begun = clock_ns();
	join(fixture, fixture_ring(fixture->stream, SLOTS), &request);
	loop_step(core);
	wait_until_made(core);
	uint64_t made = clock_ns();
	run_until_sent(core, 1);
	assert_true(batch(0)->ready_ns > begun && batch(0)->ready_ns < made);
}

static void no_more_than_the_credit(void **state)
{
	struct fixture *fixture = *state;
	struct core *core = &fixture->core;
	const struct reader_request request = four();
	join(fixture, fixture_ring(fixture->stream, SLOTS), &request);
	run_until_sent(core, 2);
	run_on(core);
	assert_int_equal(client.count, 2);
	release(fixture, batch(0)->lease);
	run_until_sent(core, 3);
	run_on(core);
	assert_int_equal(client.count, 3);
	assert_int_equal(batch(2)->position, 8);
}

static void the_window_waits_for_a_lease(void **state)
{
	struct fixture *fixture = *state;
	struct core *core = &fixture->core;
	struct reader_request request = four();
	request.ring_request.inflight = 100;
	join(fixture, fixture_ring(fixture->stream, SLOTS), &request);
	run_until_sent(core, SLOTS / 4);
	run_on(core);
	assert_int_equal(client.count, SLOTS / 4);
	release(fixture, batch(1)->lease); /* not the oldest */
	run_on(core);
	assert_int_equal(client.count, SLOTS / 4);
	release(fixture, batch(0)->lease); /* the step wakes it */
	run_until_sent(core, SLOTS / 4 + 2);
	run_on(core);
	assert_int_equal(client.count, SLOTS / 4 + 2);
}

static void an_end_comes_once(void **state)
{
	struct fixture *fixture = *state;
	struct core *core = &fixture->core;
	struct reader_request request = four();
	request.share.batch_size = SAMPLES / 2;
	request.epochs = 1;
	struct reader *reader = join(fixture, fixture_ring(fixture->stream, SAMPLES), &request);
	run_until_sent(core, 3);
	run_on(core);
	assert_int_equal(client.count, 3);
	assert_int_equal(client.sent[2].kind, MESSAGE_END);
	assert_int_equal(client.sent[2].end.epoch, 1);
	assert_null(reader->ring);
	assert_int_equal(core->counters[COUNTER_READERS], 1); /* it stays attached */
	assert_int_equal(core->counters[COUNTER_RINGS], 1);   /* its leases hold it */
	assert_false(list_empty(&core->abandoned));
	release(fixture, batch(0)->lease);
	release(fixture, batch(1)->lease);
	loop_step(core);
	assert_int_equal(core->counters[COUNTER_RINGS], 0);
	assert_false(loop_step_is_drained(core));
	membership_leave(reader);
	assert_true(loop_step_is_drained(core));
}

/* -- who comes and goes ------------------------------------------------------------------- */

static int told_result;
static unsigned told_count;

static void on_made(struct ring_waiter *waiter, int result, const struct fault *fault)
{
	(void)waiter;
	(void)fault;
	told_result = result;
	told_count++;
}

static void who_waits_for_a_ring_is_told(void **state)
{
	struct fixture *fixture = *state;
	const struct ring_plan plan = {.transport = SEGMENT_FD, .slots = SLOTS, .stride = SAMPLES};
	struct ring_waiter waiter = {.on_made = on_made};
	struct ring *ring;
	told_count = 0;
	assert_int_equal(ring_new(&ring, fixture->stream, &plan), 0);
	list_append(&ring->waiters, &waiter.link);
	ring_touch(ring); /* touched before it is made */
	loop_step(&fixture->core);
	assert_int_equal(told_count, 0);
	fixture_run(fixture);
	loop_step(&fixture->core);
	assert_int_equal(told_count, 1);
	assert_int_equal(told_result, 0);
	/* Nobody joined: it is freed in the same step. */
	assert_int_equal(fixture->core.counters[COUNTER_RINGS], 0);
}

static void a_ring_goes_with_its_last_reader(void **state)
{
	struct fixture *fixture = *state;
	struct core *core = &fixture->core;
	const struct reader_request request = four();
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct reader *one = join(fixture, ring, &request), *other = join(fixture, ring, &request);
	run_until_sent(core, 4);
	run_on(core);
	membership_leave(one);
	run_on(core);
	assert_int_equal(core->counters[COUNTER_RINGS], 1);
	assert_false(ring->abandoned);
	membership_leave(other);
	run_on(core);
	assert_true(ring->abandoned); /* leases are on it */
	for (unsigned i = 0; i < 4; i++)
		release(fixture, batch(i)->lease);
	loop_step(core);
	assert_int_equal(core->counters[COUNTER_RINGS], 0);
	assert_true(list_empty(&core->abandoned));
}

static void a_reader_that_leaves_cancels_its_jobs(void **state)
{
	struct fixture *fixture = *state;
	struct core *core = &fixture->core;
	struct reader_request request = four();
	request.share.batch_size = SAMPLES;
	struct ring *ring = fixture_ring(fixture->stream, SAMPLES);
	struct reader *reader = join(fixture, ring, &request);
	assert_int_equal(pool_resize(core->pool, 0, 1), 0); /* no worker: no job is begun */
	loop_step(core);
	uint64_t queued = core->counters[COUNTER_QUEUED];
	assert_true(queued > 0);
	assert_int_equal(ring->jobs, queued);
	membership_leave(reader);
	loop_step(core);
	assert_int_equal(core->counters[COUNTER_SAMPLES_CANCELLED], queued);
	assert_int_equal(core->counters[COUNTER_QUEUED], 0);
	assert_int_equal(core->counters[COUNTER_RINGS], 0);
	assert_int_equal(jobs.queued_ns, 0);
}

static void a_reader_moves_to_another_ring(void **state)
{
	struct fixture *fixture = *state;
	struct core *core = &fixture->core;
	const struct reader_request request = four();
	struct ring *from = fixture_ring(fixture->stream, SLOTS);
	struct ring *into = fixture_ring(fixture->stream, SLOTS);
	struct reader *reader = join(fixture, from, &request);
	run_until_sent(core, 2);
	membership_move(reader, into);
	assert_ptr_equal(reader->ring, into);
	assert_int_equal(reader->leased, 2); /* they stay where they are */
	release(fixture, batch(0)->lease);
	release(fixture, batch(1)->lease);
	run_until_sent(core, 4);
	assert_int_equal(batch(2)->position, 8);
	assert_holds(into, batch(2));
	assert_int_equal(core->counters[COUNTER_RINGS], 1); /* the old one is gone */
}

/* -- waking ------------------------------------------------------------------------------- */

static void readers_are_woken_when_it_helps(void **state)
{
	struct fixture *fixture = *state;
	const struct reader_request request = four();
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct reader *reader = join(fixture, ring, &request);
	flow_leave(reader);
	reader->slot_wait = true;
	ring->wake_at = 1;
	wake_ring(ring); /* the floor is at 0 */
	assert_true(reader->slot_wait);
	assert_true(list_empty(&reader->in_runnable));
	reader_advance(reader);
	wake_ring(ring);
	assert_false(reader->slot_wait);
	assert_false(list_empty(&reader->in_runnable));
	assert_true(ring->wake_at == UINT64_MAX);
}

/* -- jobs --------------------------------------------------------------------------------- */

static void a_job_is_of_its_slot(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	ring->base = SAMPLES;
	struct job *job = job_queue_new(ring, 1, 5);
	assert_non_null(job);
	assert_int_equal(job->sample, 5);
	assert_int_equal(job->key.epoch, 1);
	assert_int_equal(job->key.position, 5);
	assert_ptr_equal(job->owner, ring);
	assert_ptr_equal(job_slot(job), ring_slot(ring, SAMPLES + 5));
	assert_ptr_equal(job->field[FIELD_INDEX],
			 segment_at(&ring->segment, FIELD_INDEX, job->slot));
	assert_int_equal(job_slot(job)->state, SLOT_FILLING);
	assert_int_equal(ring->jobs, 1);
	slot_unfill(job_slot(job));
	ring->jobs--;
	job_queue_free(&fixture->core, job);
	struct job *again = job_queue_new(ring, 1, 6);
	assert_ptr_equal(again, job);
	slot_unfill(job_slot(again));
	ring->jobs--;
	job_queue_free(&fixture->core, again);
	ring_touch(ring);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(batches_come_in_order),
		CASE(ready_is_when_it_was_made),
		CASE(no_more_than_the_credit),
		CASE(the_window_waits_for_a_lease),
		CASE(an_end_comes_once),
		CASE(who_waits_for_a_ring_is_told),
		CASE(a_ring_goes_with_its_last_reader),
		CASE(a_reader_that_leaves_cancels_its_jobs),
		CASE(a_reader_moves_to_another_ring),
		CASE(readers_are_woken_when_it_helps),
		CASE(a_job_is_of_its_slot),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
