/* SPDX-License-Identifier: MIT */
/* libstoker in several threads: one takes batches, others use them and give them back. What it
 * asserts is little; ThreadSanitizer and AddressSanitizer (.ci/run) say the rest. */
#include <errno.h>
#include <pthread.h>

#include "client/c/clock.h"
#include "client/c/stoker.h"
#include "tests/unit/client/fake.h"
#include "tests/unit/test.h"

#define BATCHES 3000
#define INFLIGHT 3
#define PER_EPOCH 25 /* the fake's dataset has 100 samples */
#define WORKERS 3

static struct stoker *attach(struct fake *fake, fake_script *script)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	options.dataset = "/data";
	options.batch_size = 4;
	return fake_serve(fake, script, &options);
}

static void say_batch(struct fake *fake, uint32_t i)
{
	struct message batch = fake_batch_number(i, (struct run){i % 2 ? 4 : 0, 4});
	fake_say(fake, &batch, -1);
}

/* One batch for each that comes back, and all come back. */
static void serve_by_release(struct fake *fake)
{
	struct message end = message_init(MESSAGE_END);
	fake_welcome(fake);
	fake_attach(fake);
	for (uint32_t i = 0; i < BATCHES; i++) {
		if (i >= INFLIGHT && !fake_hear(fake))
			return;
		fake->releases += i >= INFLIGHT;
		say_batch(fake, i);
	}
	end.end.epoch = BATCHES / PER_EPOCH;
	fake_say(fake, &end, -1);
	fake_hear_kind(fake, MESSAGE_HELLO);
}

/* Batches on their way from the thread that takes them to those that use them. */
struct queue {
	pthread_mutex_t lock;
	pthread_cond_t news;
	struct stoker *stoker;
	const struct stoker_batch *batch[INFLIGHT];
	unsigned count, done;
	int failed;
	bool over;
};

static bool queue_take(struct queue *queue, const struct stoker_batch **out)
{
	pthread_mutex_lock(&queue->lock);
	while (!queue->count && !queue->over)
		pthread_cond_wait(&queue->news, &queue->lock);
	bool took = queue->count;
	if (took)
		*out = queue->batch[--queue->count];
	pthread_mutex_unlock(&queue->lock);
	return took;
}

static void queue_give(struct queue *queue, const struct stoker_batch *batch)
{
	pthread_mutex_lock(&queue->lock);
	if (batch)
		queue->batch[queue->count++] = batch;
	else
		queue->over = true;
	pthread_cond_broadcast(&queue->news);
	pthread_mutex_unlock(&queue->lock);
}

static void *use_batches(void *argument)
{
	struct queue *queue = argument;
	const struct stoker_batch *batch;
	while (queue_take(queue, &batch)) {
		const int64_t *index = stoker_field(batch, 0, "index");
		int r = index && index[3] == index[0] + 3 ? 0 : -1;
		r = stoker_release(queue->stoker, batch) ? -1 : r;
		pthread_mutex_lock(&queue->lock);
		queue->done++;
		queue->failed |= r;
		pthread_mutex_unlock(&queue->lock);
	}
	return NULL;
}

static void test_batches_are_given_back_elsewhere(void **state)
{
	struct fake fake;
	struct queue queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
			      .news = PTHREAD_COND_INITIALIZER,
			      .stoker = attach(&fake, serve_by_release)};
	const struct stoker_batch *batch;
	pthread_t worker[WORKERS];
	unsigned taken = 0;
	int r;
	(void)state;
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&worker[i], NULL, use_batches, &queue), 0);
	while ((r = stoker_next(queue.stoker, &batch, 60000)) == 1) {
		assert_int_equal(batch->epoch * 100 + batch->position, 4 * taken);
		queue_give(&queue, batch);
		taken++;
	}
	assert_int_equal(r, 0);
	assert_string_equal(stoker_error(queue.stoker), "");
	queue_give(&queue, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(worker[i], NULL);
	assert_int_equal(taken, BATCHES);
	assert_int_equal(queue.done, BATCHES);
	assert_int_equal(queue.failed, 0);
	fake_leave(&fake, queue.stoker);
	assert_int_equal(fake.releases, BATCHES);
}

/* -- while another thread waits -------------------------------------------------------------- */

struct waiter {
	struct stoker *stoker;
	const struct stoker_batch *batch;
	int result;
};

static void *wait_for_batch(void *argument)
{
	struct waiter *waiter = argument;
	do
		waiter->result = stoker_next(waiter->stoker, &waiter->batch, 60000);
	while (waiter->result == -EALREADY);
	return NULL;
}

/* Another call is refused until the batch of the first has come; a release is not, and sends. */
static void test_a_call_while_one_waits(void **state)
{
	struct fake fake;
	struct waiter waiter = {.stoker = attach(&fake, serve_by_release)};
	const struct stoker_batch *held[INFLIGHT], *none = (const void *)&fake;
	pthread_t thread;
	(void)state;
	for (int i = 0; i < INFLIGHT; i++)
		assert_int_equal(stoker_next(waiter.stoker, &held[i], 60000), 1);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_batch, &waiter), 0);
	int64_t until = clock_ms() + 30000;
	int r;
	while ((r = stoker_next(waiter.stoker, &none, 0)) == -EAGAIN && clock_ms() < until)
		; /* the thread is not inside yet */
	assert_int_equal(r, -EALREADY);
	assert_null(none);
	assert_int_equal(stoker_seek(waiter.stoker, 0, 0), -EALREADY);
	assert_int_equal(stoker_detach(waiter.stoker), -EALREADY);
	assert_int_equal(stoker_release(waiter.stoker, held[1]), 0);
	pthread_join(thread, NULL);
	assert_int_equal(waiter.result, 1);
	assert_int_equal(waiter.batch->position, 12);
	assert_int_equal(stoker_release(waiter.stoker, held[1]), -EINVAL);
	fake_leave(&fake, waiter.stoker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batches_are_given_back_elsewhere),
		cmocka_unit_test(test_a_call_while_one_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
