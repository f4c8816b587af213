/* SPDX-License-Identifier: MIT */
/* libstoker when the ring or the daemon is replaced: the caller still gets its batches. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "client/c/stoker.h"
#include "tests/unit/client/fake.h"
#include "tests/unit/test.h"

#define ANOTHER_RING (FAKE_RING + 1)

static struct stoker_options options_of(const char *dataset)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	options.dataset = dataset;
	options.batch_size = 4;
	return options;
}

static void assert_next(struct stoker *stoker, uint64_t position, int64_t first,
			const struct stoker_batch **batch_out)
{
	const struct stoker_batch *batch;
	if (stoker_next(stoker, &batch, 5000) != 1)
		fail_msg("%s", stoker_error(stoker));
	assert_int_equal(batch->position, position);
	for (uint32_t i = 0; i < batch->count; i++)
		assert_int_equal(batch->run[0].indexes[i], first + i);
	if (batch_out)
		*batch_out = batch;
	else
		assert_int_equal(stoker_release(stoker, batch), 0);
}

static int count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void say_batch(struct fake *fake, uint64_t lease, uint64_t position, uint32_t slot)
{
	struct message batch = fake_batch(lease, position, (struct run){slot, 4});
	fake_say(fake, &batch, -1);
}

/* -- moves --------------------------------------------------------------------------------- */

static void say_ring(struct fake *fake, struct segment_header header, unsigned seals)
{
	struct message ring = message_init(MESSAGE_RING);
	int fd = fake_ring(&header, seals);
	ring.ring.ring = ANOTHER_RING;
	ring.ring.transport = (struct text){"fd", 2};
	ring.ring.bytes = fake_ring_bytes();
	fake_say(fake, &ring, fake->variant == 1 ? -1 : fd);
	close(fd);
}

static struct segment_header another_header(void)
{
	struct segment_header header = fake_header();
	header.ring = ANOTHER_RING;
	return header;
}

static bool moves_accepted;

static void serve_moves(struct fake *fake)
{
	struct segment_header small = fake_header();
	small.slots = 4; /* so that the batches behind the move do not fit in it */
	fake_welcome(fake);
	if (!fake_hear_kind(fake, MESSAGE_ATTACH))
		return;
	moves_accepted = fake->heard.attach.accept_moves;
	struct message attached = fake_attached(fake);
	int fd = fake_ring(&small, F_SEAL_SHRINK);
	fake_say(fake, &attached, fd);
	close(fd);
	say_batch(fake, 1, 0, 0);
	say_ring(fake, another_header(), F_SEAL_SHRINK);
	say_batch(fake, 2, 4, 4);
	say_ring(fake, another_header(), F_SEAL_SHRINK);
	say_ring(fake, another_header(), F_SEAL_SHRINK);
	say_batch(fake, 3, 8, 2);
	say_ring(fake, another_header(), F_SEAL_SHRINK); /* beside a DETACH */
	if (!fake_hear_kind(fake, MESSAGE_DETACH))
		return;
	struct message ok = message_init(MESSAGE_OK);
	ok.ok.seq = fake->heard.detach.seq;
	fake_say(fake, &ok, -1);
	fake_hear(fake);
}

static void test_moves(void **state)
{
	struct stoker_options options = options_of("/data");
	struct fake fake;
	const struct stoker_batch *first;
	(void)state;
	int before = count_fds();
	struct stoker *stoker = fake_serve(&fake, serve_moves, &options);
	assert_next(stoker, 0, 0, &first);
	assert_next(stoker, 4, 4, NULL);
	assert_next(stoker, 8, 2, NULL);
	assert_int_equal(first->run[0].indexes[3], 3); /* in the ring that it came in */
	assert_string_equal(stoker_info(stoker)->image.dtype, "float32");
	assert_int_equal(stoker_detach(stoker), 0);
	assert_int_equal(stoker_release(stoker, first), 0);
	fake_leave(&fake, stoker);
	assert_int_equal(count_fds(), before);
	assert_true(moves_accepted);
}

static void serve_wrong_moves(struct fake *fake)
{
	struct segment_header header = another_header();
	fake_welcome(fake);
	fake_attach(fake);
	if (fake->variant == 2)
		header.ring = FAKE_RING;
	else if (fake->variant == 3)
		memcpy(header.fields[0].dtype, "float16\0", 8);
	else if (fake->variant == 4)
		memcpy(header.fields[0].shape, (uint32_t[]){3, 2}, 8);
	else if (fake->variant == 5)
		header.pipeline_hash[15] = 1;
	else if (fake->variant == 6)
		header.slots = UINT32_MAX;
	if (fake->variant == 3)
		header.fields[0].stride /= 2;
	say_ring(fake, header, fake->variant == 7 ? 0 : F_SEAL_SHRINK);
	say_batch(fake, 1, 0, 0);
	fake_hear(fake);
}

/* FAULTS 48: an error with a text, and nothing stays open. */
static void test_wrong_moves(void **state)
{
	struct stoker_options options = options_of("/data");
	(void)state;
	int before = count_fds();
	for (uint32_t variant = 1; variant <= 7; variant++) {
		struct stoker *stoker = stoker_new();
		const struct stoker_batch *batch;
		struct fake fake;
		fake_start(&fake, serve_wrong_moves);
		fake.variant = variant;
		assert_int_equal(stoker_connect(stoker, fake.path), 0);
		assert_int_equal(stoker_attach(stoker, &options), 0);
		if (stoker_next(stoker, &batch, 5000) != -EPROTO)
			fail_msg("variant %u: %s", variant, stoker_error(stoker));
		assert_int_equal(stoker_next(stoker, &batch, 0), -EPROTO);
		fake_leave(&fake, stoker);
	}
	assert_int_equal(count_fds(), before);
}

/* -- a daemon that comes back --------------------------------------------------------------- */

static uint64_t places[2]; /* that were asked for */
static bool expects;

/* Dies after two batches; stops after the next; then refuses; then serves to the end. */
static void serve_lives(struct fake *fake)
{
	struct message end = message_init(MESSAGE_END), goaway = message_init(MESSAGE_GOAWAY);
	fake_welcome(fake);
	switch (fake->variant++) {
	case 0:
		fake_attach(fake);
		say_batch(fake, 1, 0, 0);
		say_batch(fake, 2, 4, 4);
		return;
	case 1:
		fake_attach(fake);
		places[0] = fake->heard.attach.position;
		expects = text_equals(fake->heard.attach.expect_dataset, FAKE_HASH) &&
			  text_equals(fake->heard.attach.expect_pipeline, FAKE_HASH);
		say_batch(fake, 1, 8, 2);
		goaway.goaway.text = (struct text){"SIGTERM", 7};
		fake_say(fake, &goaway, -1);
		fake_hear_kind(fake, MESSAGE_HELLO); /* until it is left */
		return;
	case 2:
		if (fake_hear_kind(fake, MESSAGE_ATTACH))
			fake_error(fake, fake->heard.attach.seq, ERROR_STOPPING);
		return;
	default:
		fake_attach(fake);
		places[1] = fake->heard.attach.position;
		say_batch(fake, 1, 12, 0);
		fake_say(fake, &end, -1);
		fake_hear_kind(fake, MESSAGE_HELLO);
	}
}

/* FAULTS 21, 27: the caller sees a pause, and what it holds stays readable. */
static void test_a_daemon_that_comes_back(void **state)
{
	struct stoker_options options = options_of("/data");
	struct fake fake;
	const struct stoker_batch *held, *none;
	(void)state;
	struct stoker *stoker = fake_serve(&fake, serve_lives, &options);
	assert_next(stoker, 0, 0, NULL);
	assert_next(stoker, 4, 4, &held);
	assert_next(stoker, 8, 2, NULL);
	assert_int_equal(stoker_info(stoker)->reconnects, 1);
	assert_next(stoker, 12, 0, NULL);
	assert_int_equal(stoker_info(stoker)->reconnects, 2);
	assert_int_equal(held->run[0].indexes[3], 7);
	assert_int_equal(stoker_release(stoker, held), 0);
	assert_int_equal(stoker_next(stoker, &none, -1), 0);
	assert_string_equal(stoker_error(stoker), "");
	fake_leave(&fake, stoker);
	assert_int_equal(places[0], 8);
	assert_int_equal(places[1], 12);
	assert_true(expects);
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd poll_ = {fd, POLLIN, 0};
	return poll(&poll_, 1, timeout_ms) == 1;
}

/* By polling: the descriptor says when to call, also while there is no daemon. */
static void test_coming_back_by_polling(void **state)
{
	struct stoker_options options = options_of("/data");
	struct fake fake;
	const struct stoker_batch *batch;
	(void)state;
	struct stoker *stoker = fake_serve(&fake, serve_lives, &options);
	int fd = stoker_fd(stoker), got = 0, r = -EAGAIN;
	while (r == -EAGAIN || r == 1) {
		r = stoker_next(stoker, &batch, 0);
		if (r == -EAGAIN && !is_readable(fd, 5000))
			fail_msg("the descriptor is quiet behind %d batches", got);
		if (r == 1) {
			assert_int_equal(batch->position, 4 * got++);
			assert_int_equal(stoker_release(stoker, batch), 0);
		}
	}
	assert_int_equal(r, 0);
	assert_int_equal(got, 4);
	fake_leave(&fake, stoker);
}

static void test_nobody_comes_back(void **state)
{
	struct stoker_options options = options_of("/data");
	struct fake fake;
	const struct stoker_batch *batch;
	(void)state;
	options.reconnect_ms = 700;
	struct stoker *stoker = fake_serve(&fake, serve_lives, &options);
	assert_next(stoker, 0, 0, NULL);
	assert_next(stoker, 4, 4, NULL);
	fake.variant = 99;
	fake_stop(&fake);
	assert_int_equal(stoker_next(stoker, &batch, 20), -ETIMEDOUT);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(stoker_next(stoker, &batch, -1), -ECONNRESET);
		assert_non_null(strstr(stoker_error(stoker), "within 700 ms"));
	}
	assert_non_null(stoker_info(stoker));
	stoker_free(stoker);
}

/* Dies after each ATTACHED: it is given up, though it answers. */
static void serve_nothing(struct fake *fake)
{
	fake_welcome(fake);
	fake_attach(fake);
	fake->variant++;
}

static void test_a_daemon_that_dies_over_and_over(void **state)
{
	struct stoker_options options = options_of("/data");
	struct fake fake;
	const struct stoker_batch *batch;
	(void)state;
	options.reconnect_ms = 300;
	struct stoker *stoker = fake_serve(&fake, serve_nothing, &options);
	assert_int_equal(stoker_next(stoker, &batch, -1), -ECONNRESET);
	fake_leave(&fake, stoker);
	assert_in_range(fake.variant, 2, 10); /* with pauses in between */
}

static void serve_another(struct fake *fake)
{
	fake_welcome(fake);
	if (fake->variant++ == 0) {
		fake_attach(fake);
		say_batch(fake, 1, 0, 0);
	} else if (fake_hear_kind(fake, MESSAGE_ATTACH)) {
		fake_error(fake, fake->heard.attach.seq, ERROR_TOKEN);
		fake_hear(fake);
	}
}

/* Another dataset is an error at once, and not silently other samples. */
static void test_another_dataset(void **state)
{
	struct stoker_options options = options_of("/data");
	struct fake fake;
	const struct stoker_batch *batch;
	(void)state;
	struct stoker *stoker = fake_serve(&fake, serve_another, &options);
	assert_next(stoker, 0, 0, NULL);
	for (int i = 0; i < 2; i++)
		assert_int_equal(stoker_next(stoker, &batch, -1), -ESTALE);
	fake_leave(&fake, stoker);
}

/* A live start, then the daemon dies: positions and options on the wire. */
static void serve_live(struct fake *fake)
{
	struct segment_header header = fake_header();
	fake_welcome(fake);
	if (!fake_hear_kind(fake, MESSAGE_ATTACH))
		return;
	const struct message_attach *heard = &fake->heard.attach;
	struct message attached = fake_attached(fake);
	attached.attached.epoch = 5;
	attached.attached.position = 96;
	int fd = fake_ring(&header, F_SEAL_SHRINK);
	if (fake->variant++ == 0)
		fake->releases = text_equals(heard->start, "live") &&
				 text_equals(heard->pace, "free") && heard->priority == 20 &&
				 heard->epochs == 1;
	else
		fake->releases += heard->start.size == 0 && heard->epoch == 5 &&
				  heard->position == 92 && heard->epochs == 1 && heard->rank == 1;
	fake_say(fake, &attached, fd);
	close(fd);
	if (fake->variant == 1)
		return;
	struct message batch = fake_batch(1, 96, (struct run){0, 4});
	batch.batch.epoch = 5;
	batch.batch.next_epoch = 6;
	batch.batch.next_position = 0;
	fake_say(fake, &batch, -1);
}

static void test_a_live_start(void **state)
{
	struct stoker_options options = options_of("/data");
	struct fake fake;
	const struct stoker_batch *none;
	(void)state;
	options.start = "live";
	options.pace = "free";
	options.priority = 20;
	options.rank = 1;
	options.world = 2;
	options.epochs = 1;
	struct stoker *stoker = fake_serve(&fake, serve_live, &options);
	assert_next(stoker, 96, 0, NULL);
	/* It died after the last epoch: there is no need to attach. */
	assert_int_equal(stoker_next(stoker, &none, 5000), 0);
	fake_leave(&fake, stoker);
	assert_int_equal(fake.releases, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_wrong_moves),
		cmocka_unit_test(test_a_daemon_that_comes_back),
		cmocka_unit_test(test_coming_back_by_polling),
		cmocka_unit_test(test_nobody_comes_back),
		cmocka_unit_test(test_a_daemon_that_dies_over_and_over),
		cmocka_unit_test(test_another_dataset),
		cmocka_unit_test(test_a_live_start),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
