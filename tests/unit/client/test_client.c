/* SPDX-License-Identifier: MIT */
/* libstoker as a program uses it: options, batches, waiting, releasing, detaching, a fork. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/c/stoker.h"
#include "tests/unit/client/fake.h"
#include "tests/unit/test.h"

static struct stoker_options options_of(const char *dataset)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	options.dataset = dataset;
	options.transforms = "Resize(size=[2, 3])";
	options.batch_size = 4;
	return options;
}

/* A daemon that would close the connection for a message that it does not know. */
static void test_credentials_for_an_old_daemon(void **state)
{
	struct fake fake;
	struct stoker *stoker;
	(void)state;
	fake_start(&fake, fake_welcome);
	stoker = stoker_new();
	assert_int_equal(stoker_connect(stoker, fake.path), 0);
	assert_int_equal(stoker_credentials(stoker, "s3://b", "key", "secret", NULL, 0), -ENOTSUP);
	assert_says(stoker, "too old to take credentials");
	fake_leave(&fake, stoker);
}

/* Connected and attached to what the script serves. */
static struct stoker *attach(struct fake *fake, fake_script *script)
{
	struct stoker_options options = options_of("/data");
	return fake_serve(fake, script, &options);
}

/* -- an epoch ----------------------------------------------------------------------------- */

/* Three batches of four over a ring of eight, the last in two runs and padded; then END. */
static void serve_epoch(struct fake *fake)
{
	struct message progress = message_init(MESSAGE_PROGRESS), end = message_init(MESSAGE_END);
	fake_welcome(fake);
	progress.progress.what = (struct text){"indexing", 8};
	fake_say(fake, &progress, -1);
	fake_attach(fake);
	struct message batch = fake_batch(11, 0, (struct run){0, 4});
	fake_say(fake, &batch, -1);
	batch = fake_batch(12, 4, (struct run){2, 4});
	fake_say(fake, &batch, -1);
	batch = fake_batch(13, 8, (struct run){6, 4});
	batch.batch.runs = (struct runs){2, {{6, 2}, {0, 2}}};
	batch.batch.padded = 1;
	batch.batch.substituted = 2;
	batch.batch.wrapped = 3;
	fake_say(fake, &batch, -1);
	fake_say(fake, &end, -1);
	fake_hear_kind(fake, MESSAGE_HELLO); /* does not come: counts releases until the end */
}

static void assert_run(const struct stoker_run *run, int64_t first)
{
	const float *images = run->images;
	const int64_t *labels = run->labels;
	for (uint32_t i = 0; i < run->count; i++) {
		assert_int_equal(run->indexes[i], first + i);
		assert_int_equal(labels[i], first + i);
		for (int k = 0; k < 6; k++)
			assert_true(images[i * 6 + (uint32_t)k] == (float)(first + i));
	}
}

static void test_an_epoch(void **state)
{
	struct fake fake;
	struct stoker *stoker = attach(&fake, serve_epoch);
	const struct stoker_info *info = stoker_info(stoker);
	const struct stoker_batch *batch[3], *none;
	(void)state;
	assert_int_equal(info->samples, 100);
	assert_int_equal(info->batches, 25);
	assert_string_equal(info->image.dtype, "float32");
	assert_int_equal(info->image.dims, 2);
	assert_int_equal(info->image.shape[0], 2);
	assert_int_equal(info->image.shape[1], 3);
	assert_int_equal(info->image.bytes, 24);
	assert_string_equal(info->label.dtype, "int64");
	assert_int_equal(info->label.dims, 0);
	assert_string_equal(info->dataset, FAKE_HASH);
	for (int i = 0; i < 3; i++)
		assert_int_equal(stoker_next(stoker, &batch[i], 1000), 1);
	assert_int_equal(batch[0]->n_runs, 1);
	assert_run(&batch[0]->run[0], 0);
	assert_int_equal(batch[1]->position, 4);
	assert_run(&batch[1]->run[0], 2);
	assert_int_equal(batch[2]->n_runs, 2);
	assert_int_equal(batch[2]->count, 4);
	assert_run(&batch[2]->run[0], 6);
	assert_run(&batch[2]->run[1], 0);
	assert_int_equal(batch[2]->padded, 1);
	assert_int_equal(batch[2]->substituted, 2);
	assert_int_equal(batch[2]->wrapped, 3);
	assert_int_equal(batch[2]->next_position, 12);
	for (int i = 0; i < 2; i++) /* and it stays so */
		assert_int_equal(stoker_next(stoker, &none, -1), 0);
	assert_null(none);
	assert_string_equal(stoker_error(stoker), "");
	for (int i = 0; i < 3; i++)
		assert_int_equal(stoker_release(stoker, batch[i]), 0);
	fake_leave(&fake, stoker);
	assert_int_equal(fake.releases, 3);
	assert_int_equal(fake.last_lease, 13);
}

/* What the options become on the wire. */
static void serve_options(struct fake *fake)
{
	fake_welcome(fake);
	fake_attach(fake);
	fake->releases = fake->heard.attach.shuffle;
	fake->last_lease = fake->heard.attach.subset_stop;
	fake->variant = text_equals(fake->heard.attach.dtype, "uint8") &&
			text_equals(fake->heard.attach.layout, "NHWC") &&
			fake->heard.attach.inflight == 3 && fake->heard.attach.accept_fd &&
			!fake->heard.attach.accept_path;
}

static void test_options(void **state)
{
	struct stoker_options options = options_of("data"); /* relative */
	struct stoker *stoker = stoker_new();
	struct fake fake;
	(void)state;
	options.transforms = "Resize(size=2)|uint8|NHWC";
	options.sequential = 1;
	options.subset_stop = 50;
	fake_start(&fake, serve_options);
	assert_int_equal(stoker_connect(stoker, fake.path), 0);
	assert_int_equal(stoker_attach(stoker, &options), 0);
	fake_leave(&fake, stoker);
	assert_int_equal(fake.releases, 0);
	assert_int_equal(fake.last_lease, 50);
	assert_int_equal(fake.variant, 1);
}

static void test_wrong_options(void **state)
{
	struct stoker_options options = options_of("/data");
	struct {
		struct stoker_options options;
		uint64_t more;
	} newer = {options_of("/data"), 1};
	struct stoker *stoker = stoker_new();
	(void)state;
	assert_int_equal(stoker_attach(NULL, &options), -EINVAL);
	assert_int_equal(stoker_attach(stoker, NULL), -EINVAL);
	assert_int_equal(stoker_attach(stoker, &options), -ENOTCONN);
	options.size = 0;
	assert_int_equal(stoker_attach(stoker, &options), -EINVAL);
	assert_says(stoker, "STOKER_OPTIONS_INIT");
	options = options_of(NULL);
	assert_int_equal(stoker_attach(stoker, &options), -EINVAL);
	assert_says(stoker, "dataset is missing");
	options = options_of("/data");
	options.batch_size = 0;
	assert_int_equal(stoker_attach(stoker, &options), -EINVAL);
	assert_says(stoker, "batch_size is missing");
	options = options_of("/data");
	options.transforms = "Resize(=3)";
	assert_int_equal(stoker_attach(stoker, &options), -EINVAL);
	assert_says(stoker, "column 8");
	options.transforms = "uint8";
	options.dtype = "float16";
	assert_int_equal(stoker_attach(stoker, &options), -EINVAL);
	assert_says(stoker, "dtype is float16, but the transforms end with uint8");
	newer.options.size = sizeof(newer);
	assert_int_equal(stoker_attach(stoker, &newer.options), -E2BIG);
	newer.more = 0; /* a newer program that uses nothing new */
	assert_int_equal(stoker_attach(stoker, &newer.options), -ENOTCONN);
	assert_null(stoker_info(stoker));
	stoker_free(stoker);
	stoker_free(NULL);
	assert_string_equal(stoker_error(NULL), "out of memory");
}

/* -- waiting ------------------------------------------------------------------------------ */

/* A batch only once one is released; inflight is 3. */
static void serve_by_credit(struct fake *fake)
{
	fake_welcome(fake);
	fake_attach(fake);
	for (uint64_t lease = 1; lease <= 4; lease++) {
		struct message batch = fake_batch_number(lease - 1, (struct run){0, 4});
		fake_say(fake, &batch, -1);
		if (lease == 3 && !fake_hear(fake))
			return;
	}
	fake_hear_kind(fake, MESSAGE_HELLO);
}

static void test_waiting(void **state)
{
	struct fake fake;
	struct stoker *stoker = attach(&fake, serve_by_credit);
	const struct stoker_batch *batch[4];
	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(stoker_next(stoker, &batch[i], -1), 1);
	assert_int_equal(stoker_next(stoker, &batch[3], 0), -EAGAIN);
	assert_int_equal(stoker_next(stoker, &batch[3], 20), -ETIMEDOUT);
	assert_says(stoker, "all 3 batches of inflight are held: release one");
	assert_null(batch[3]);
	assert_int_equal(stoker_next(stoker, &batch[3], -1), -EDEADLK);
	assert_says(stoker, "all 3 batches");
	assert_int_equal(stoker_release(stoker, batch[1]), 0);
	assert_int_equal(stoker_release(stoker, batch[1]), -EINVAL);
	assert_says(stoker, "released twice");
	assert_int_equal(stoker_next(stoker, &batch[3], -1), 1);
	assert_int_equal(batch[3]->position, 12);
	fake_leave(&fake, stoker); /* frees what is held */
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd poll_ = {fd, POLLIN, 0};
	return poll(&poll_, 1, timeout_ms) == 1;
}

static void test_the_descriptor(void **state)
{
	struct fake fake;
	struct stoker *stoker = attach(&fake, serve_by_credit);
	const struct stoker_batch *batch[4];
	int fd = stoker_fd(stoker), taken = 0;
	(void)state;
	assert_true(fd >= 0);
	while (taken < 3) {
		assert_true(is_readable(fd, 2000));
		while (taken < 3 && stoker_next(stoker, &batch[taken], 0) > 0)
			taken++;
	}
	assert_int_equal(stoker_next(stoker, &batch[3], 0), -EAGAIN);
	assert_false(is_readable(fd, 20));
	assert_int_equal(stoker_release(stoker, batch[0]), 0);
	assert_true(is_readable(fd, 2000));
	assert_int_equal(stoker_next(stoker, &batch[3], 0), 1);
	/* The same one behind a new connection. */
	struct stoker_options options = options_of("/data");
	assert_int_equal(stoker_connect(stoker, fake.path), 0);
	assert_int_equal(stoker_fd(stoker), fd);
	assert_int_equal(stoker_attach(stoker, &options), 0);
	assert_true(is_readable(fd, 2000));
	assert_int_equal(stoker_next(stoker, &batch[0], 0), 1);
	fake_leave(&fake, stoker);
}

static void serve_detach(struct fake *fake)
{
	struct message ok = message_init(MESSAGE_OK);
	fake_welcome(fake);
	for (uint64_t lease = 1; lease <= 2; lease++) {
		fake_attach(fake);
		struct message batch = fake_batch(lease, 0, (struct run){2, 4});
		fake_say(fake, &batch, -1);
		if (!fake_hear_kind(fake, MESSAGE_DETACH))
			return;
		fake_say(fake, &batch, -1); /* it was on its way */
		ok.ok.seq = fake->heard.detach.seq;
		fake_say(fake, &ok, -1);
	}
	fake_hear_kind(fake, MESSAGE_HELLO);
}

static void test_detach_and_attach_again(void **state)
{
	struct fake fake;
	struct stoker *stoker = attach(&fake, serve_detach);
	const struct stoker_batch *old, *batch;
	struct stoker_options options = options_of("/data");
	(void)state;
	assert_int_equal(stoker_next(stoker, &old, -1), 1);
	assert_int_equal(stoker_attach(stoker, &options), 0); /* detaches first */
	assert_int_equal(stoker_next(stoker, &batch, -1), 1);
	assert_run(&old->run[0], 2);
	assert_int_equal(stoker_release(stoker, old), 0); /* the daemon kept it for us */
	assert_int_equal(stoker_release(stoker, batch), 0);
	assert_int_equal(stoker_detach(stoker), 0);
	assert_int_equal(stoker_detach(stoker), 0);
	assert_null(stoker_info(stoker));
	assert_int_equal(stoker_next(stoker, &batch, -1), -ENOTCONN);
	fake_leave(&fake, stoker);
	assert_int_equal(fake.releases, 4); /* the two held, the two that were on their way */
	assert_int_equal(fake.last_lease, 2);
}

static void test_a_fork(void **state)
{
	struct fake fake;
	struct stoker *stoker = attach(&fake, serve_by_credit);
	const struct stoker_batch *batch;
	int status;
	(void)state;
	pid_t child = fork();
	if (child == 0) {
		bool refused =
			stoker_next(stoker, &batch, 0) == -EPERM && stoker_detach(stoker) == -EPERM;
		stoker_free(stoker);
		_exit(refused ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(stoker_next(stoker, &batch, 1000), 1); /* the parent goes on */
	fake_leave(&fake, stoker);
}

/* -- a read that hangs ---------------------------------------------------------------------- */

static void serve_stalled(struct fake *fake)
{
	struct message stalled = message_init(MESSAGE_STALLED);
	fake_welcome(fake);
	fake_attach(fake);
	stalled.stalled.path = (struct text){"cats/7.jpg", 10};
	stalled.stalled.read_ms = 7250;
	fake_say(fake, &stalled, -1);
	fake_hear_kind(fake, MESSAGE_LIST); /* the caller had one time-out */
	struct message batch = fake_batch(1, 0, (struct run){2, 4});
	fake_say(fake, &batch, -1);
	fake_error(fake, fake->heard.list.seq, ERROR_INTERNAL);
	fake_hear(fake);
}

/* FAULTS 62: a time-out names the file; nothing is lost, and the text is for one batch only. */
static void test_a_read_that_hangs(void **state)
{
	struct fake fake;
	struct stoker *stoker = attach(&fake, serve_stalled);
	const struct stoker_batch *batch, *none;
	const char *const *names;
	(void)state;
	assert_int_equal(stoker_next(stoker, &batch, 200), -ETIMEDOUT);
	assert_says(stoker,
		    "200 ms: the read of cats/7.jpg has taken 7 s so far: does its storage hang?");
	assert_int_equal(stoker_classes(stoker, &names), -EIO);
	assert_int_equal(stoker_next(stoker, &batch, -1), 1);
	assert_run(&batch->run[0], 2);
	assert_int_equal(stoker_next(stoker, &none, 1), -ETIMEDOUT);
	assert_string_equal(stoker_error(stoker), "no batch was ready within 1 ms");
	fake_leave(&fake, stoker);
}

/* -- a batch that is kept -------------------------------------------------------------------- */

static void say_kept(struct fake *fake, uint64_t lease)
{
	struct message stalled = message_init(MESSAGE_STALLED);
	stalled.stalled.why = (struct text){"the batch at position 4 is held", 31};
	stalled.stalled.lease = lease;
	fake_say(fake, &stalled, -1);
}

static void serve_kept(struct fake *fake)
{
	fake_welcome(fake);
	fake_attach(fake);
	struct message batch = fake_batch(5, 0, (struct run){2, 4});
	fake_say(fake, &batch, -1);
	say_kept(fake, 5);
	fake_hear_kind(fake, MESSAGE_RELEASE);
	say_kept(fake, 5); /* it was on its way */
	fake_hear_kind(fake, MESSAGE_LIST);
	fake_error(fake, fake->heard.list.seq, ERROR_INTERNAL);
	batch = fake_batch(6, 4, (struct run){0, 4});
	fake_say(fake, &batch, -1);
	fake_hear(fake);
}

/* The next batch waits for one that the caller holds: it is told so, until it gives that back. */
static void test_a_batch_that_is_kept(void **state)
{
	struct fake fake;
	struct stoker *stoker = attach(&fake, serve_kept);
	const struct stoker_batch *kept, *batch;
	const char *const *names;
	(void)state;
	assert_int_equal(stoker_next(stoker, &kept, -1), 1);
	assert_int_equal(stoker_next(stoker, &batch, 200), -ETIMEDOUT);
	assert_string_equal(stoker_error(stoker), "the batch at position 4 is held");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(stoker_next(stoker, &batch, -i), -EDEADLK);
		assert_string_equal(stoker_error(stoker), "the batch at position 4 is held");
	}
	assert_int_equal(stoker_release(stoker, kept), 0);
	assert_int_equal(stoker_next(stoker, &batch, 200), -ETIMEDOUT); /* it holds nothing now */
	assert_says(stoker, "no batch was ready within 200 ms");
	assert_int_equal(stoker_classes(stoker, &names), -EIO);
	assert_int_equal(stoker_next(stoker, &batch, -1), 1);
	assert_int_equal(batch->position, 4);
	fake_leave(&fake, stoker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_epoch),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_wrong_options),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_the_descriptor),
		cmocka_unit_test(test_detach_and_attach_again),
		cmocka_unit_test(test_a_fork),
		cmocka_unit_test(test_credentials_for_an_old_daemon),
		cmocka_unit_test(test_a_read_that_hangs),
		cmocka_unit_test(test_a_batch_that_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
