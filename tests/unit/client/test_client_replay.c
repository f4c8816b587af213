/* SPDX-License-Identifier: MIT */
/* libstoker: a batch again over a second connection, and statistics; good and hostile. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/c/stoker.h"
#include "proto/pack.h"
#include "tests/unit/client/fake.h"
#include "tests/unit/test.h"

static struct stoker *attach(struct fake *fake, fake_script *script, uint32_t variant)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	options.dataset = "/data";
	options.batch_size = 4;
	options.job = "training";
	options.rank = 1;
	options.world = 2;
	options.reconnect_ms = -1;
	struct stoker *stoker = stoker_new();
	fake_start(fake, script);
	fake->variant = variant;
	if (stoker_connect(stoker, fake->path) || stoker_attach(stoker, &options))
		fail_msg("%s", stoker_error(stoker));
	return stoker;
}

/* -- replay ---------------------------------------------------------------------------------- */

enum { GOOD, ANOTHER_PLACE, ANOTHER_RING, REFUSED, BAD_SAMPLE, GONE };

static struct message_attach asked; /* the second ATTACH, without what it borrows */
static size_t asked_job;

/* The batch of rank 1 that begins at position 12. */
static struct message the_batch(uint64_t lease, uint64_t position, uint32_t slot)
{
	struct message batch = fake_batch(lease, position, (struct run){slot, 4});
	batch.batch.next_position = position + 4;
	return batch;
}

static void say_again(struct fake *fake, int ring)
{
	struct message attached = fake_attached(fake);
	struct message batch = the_batch(1, fake->variant == ANOTHER_PLACE ? 20 : 12, 2);
	if (fake->variant == REFUSED) {
		fake_error(fake, fake->heard.attach.seq, ERROR_LIMIT);
		return;
	}
	fake_say(fake, &attached, ring);
	batch.batch.runs = (struct runs){2, {{7, 1}, {0, 3}}};
	if (fake->variant == BAD_SAMPLE) {
		struct message bad = message_init(MESSAGE_BAD_SAMPLE);
		bad.bad_sample.position = 13;
		bad.bad_sample.next_position = 16;
		bad.bad_sample.code = ERROR_SAMPLE_CORRUPT;
		bad.bad_sample.name = (struct text){"sample_corrupt", 14};
		bad.bad_sample.text = (struct text){"a hole", 6};
		fake_say(fake, &bad, -1);
	} else if (fake->variant != GONE) {
		fake_say(fake, &batch, -1);
	}
}

static void serve_beside(struct fake *fake)
{
	struct segment_header header = fake_header();
	if (fake->variant == ANOTHER_RING)
		header.fields[0].shape[1] = 1, header.fields[0].stride = 2 * sizeof(float);
	fake_welcome(fake);
	if (!fake_hear_kind(fake, MESSAGE_ATTACH))
		return;
	asked = fake->heard.attach;
	asked_job = asked.job.size;
	int ring = fake_ring(&header, F_SEAL_SHRINK | F_SEAL_GROW);
	say_again(fake, ring);
	if (fake->variant != GONE)
		fake_hear(fake); /* until it hangs up */
	/* What comes into the slots then is not in the copy. */
	for (int64_t slot = 0, other = 99; slot < FAKE_SLOTS; slot++)
		assert_int_equal(pwrite(ring, &other, 8, 3 * SEGMENT_PAGE + slot * 8), 8);
	close(ring);
}

/* A reader that has its first batch, a second connection, and the second batch of the first. */
static void serve_replay(struct fake *fake)
{
	struct message first = the_batch(1, 4, 0), second = the_batch(2, 12, 4);
	fake_welcome(fake);
	fake_attach(fake);
	fake_say(fake, &first, -1);
	const int socket = fake->socket;
	const struct frame_reader in = fake->in;
	fake->in = (struct frame_reader){0};
	fake->socket = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC);
	if (fake->socket >= 0) {
		serve_beside(fake);
		close(fake->socket);
	}
	frame_reader_deinit(&fake->in);
	fake->socket = socket;
	fake->in = in;
	fake_say(fake, &second, -1);
	fake_hear_kind(fake, MESSAGE_HELLO); /* does not come */
}

static const struct stoker_batch *next(struct stoker *stoker, uint64_t position, int64_t index)
{
	const struct stoker_batch *batch;
	if (stoker_next(stoker, &batch, 5000) != 1)
		fail_msg("%s", stoker_error(stoker));
	assert_int_equal(batch->position, position);
	assert_int_equal(batch->run[0].indexes[0], index);
	return batch;
}

static void test_a_batch_again(void **state)
{
	struct fake fake;
	struct stoker *stoker = attach(&fake, serve_replay, GOOD);
	const struct stoker_batch *batch, *one = next(stoker, 4, 0);
	struct stoker_array array;
	uint64_t shape[STOKER_SHAPE_MAX];
	(void)state;
	assert_int_equal(stoker_replay(stoker, 0, 12, &batch, 5000), 0);
	assert_int_equal(asked.position, 8); /* where all ranks begin */
	assert_int_equal(asked.epochs, 1);
	assert_int_equal(asked.inflight, 1);
	assert_int_equal(asked.rank, 1);
	assert_int_equal(asked_job, 0);
	assert_int_equal(next(stoker, 12, 4)->count, 4); /* and all is written over */
	assert_int_equal(batch->position, 12);
	assert_int_equal(batch->n_runs, 1);
	static const int64_t indexes[] = {7, 0, 1, 2};
	assert_memory_equal(batch->run[0].indexes, indexes, sizeof(indexes));
	const float *images = stoker_field(batch, 0, "image");
	assert_ptr_equal(images, batch->run[0].images);
	for (int i = 0; i < 24; i++)
		assert_true(images[i] == (float)indexes[i / 6]);
	assert_int_equal(stoker_batch_array(batch, "image", &array), 0);
	assert_int_equal(array.bytes, 24);
	assert_ptr_equal(stoker_item(batch, 3, "index", shape), batch->run[0].indexes + 3);
	assert_int_equal(stoker_release(stoker, batch), 0);
	assert_int_equal(stoker_release(stoker, batch), -EINVAL);
	assert_int_equal(stoker_release(stoker, one), 0);
	fake_leave(&fake, stoker);
}

static void test_what_goes_wrong(void **state)
{
	static const struct {
		int variant, result;
		const char *words;
	} wrong[] = {
		{ANOTHER_PLACE, -EPROTO, "out of order"},
		{ANOTHER_RING, -EPROTO, "other samples"},
		{REFUSED, -EDQUOT, "because"},
		{BAD_SAMPLE, -EBADMSG, "a hole"},
		{GONE, -ECONNRESET, "closed"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct fake fake;
		struct stoker *stoker = attach(&fake, serve_replay, (uint32_t)wrong[i].variant);
		const struct stoker_batch *batch;
		next(stoker, 4, 0);
		assert_int_equal(stoker_replay(stoker, 0, 12, &batch, 5000), wrong[i].result);
		assert_says(stoker, wrong[i].words);
		assert_null(batch);
		next(stoker, 12, 4); /* goes on where it was */
		fake_leave(&fake, stoker);
	}
}

static void test_no_such_batch(void **state)
{
	struct fake fake;
	struct stoker *stoker = attach(&fake, serve_replay, GOOD);
	const struct stoker_batch *batch;
	(void)state;
	assert_int_equal(stoker_replay(stoker, 0, 3, &batch, 5000), -EINVAL); /* of rank 0 */
	assert_says(stoker, "position 3 of epoch 0");
	assert_int_equal(stoker_replay(stoker, UINT32_MAX, 12, &batch, 5000), -EINVAL);
	assert_int_equal(stoker_replay(stoker, 0, 104, &batch, 5000), -EINVAL);
	fake_leave(&fake, stoker);
	stoker = stoker_new();
	assert_int_equal(stoker_replay(stoker, 0, 12, &batch, 5000), -ENOTCONN);
	assert_null(batch);
	stoker_free(stoker);
}

/* -- statistics ------------------------------------------------------------------------------ */

static void pack_row(struct packer *packer)
{
	pack_map(packer, 5);
	pack_string(packer, "reader");
	pack_uint(packer, 3);
	pack_string(packer, "delivered");
	pack_uint(packer, 1ULL << 40);
	pack_string(packer, "share_decode");
	pack_float(packer, 0.75);
	pack_string(packer, "limited_by");
	pack_string(packer, "dec\033ode");
	pack_string(packer, "state");
	pack_uint(packer, 7); /* none that is known */
}

/* Answers LIST after a batch, which is to be kept. */
static void serve_stats(struct fake *fake)
{
	struct message batch = the_batch(1, 4, 0), listing = message_init(MESSAGE_LISTING);
	uint8_t packed[256];
	struct packer packer = packer_over(packed, sizeof(packed));
	fake_welcome(fake);
	fake_attach(fake);
	fake_say(fake, &batch, -1);
	if (!fake_hear_kind(fake, MESSAGE_LIST))
		return;
	assert_true(text_equals(fake->heard.list.what, "reader"));
	if (fake->variant == 3)
		pack_uint(&packer, 1);
	else
		pack_list(&packer, fake->variant == 1 ? 2 : 1);
	if (fake->variant == 2)
		pack_uint(&packer, 1);
	for (uint32_t i = 0; fake->variant < 2 && i <= fake->variant; i++)
		pack_row(&packer);
	listing.listing.seq = fake->heard.list.seq;
	assert_int_equal(packer_bytes(&packer, &listing.listing.items.packed), 0);
	fake_say(fake, &listing, -1);
	fake_hear_kind(fake, MESSAGE_HELLO); /* does not come */
}

static void test_statistics(void **state)
{
	struct fake fake;
	struct stoker *stoker = attach(&fake, serve_stats, 0);
	const struct stoker_stats *stats;
	(void)state;
	assert_int_equal(stoker_stats(stoker, &stats), 0);
	assert_int_equal(stats->reader, 3);
	assert_true(stats->delivered == 1ULL << 40);
	assert_true(stats->share_decode == 0.75);
	assert_true(stats->share_slot == 0);
	assert_true(stats->waited == -1);
	assert_string_equal(stats->limited_by, "dec?ode");
	assert_string_equal(stats->state, "");
	next(stoker, 4, 0);
	fake_leave(&fake, stoker);
}

static void test_wrong_statistics(void **state)
{
	(void)state;
	for (uint32_t variant = 1; variant <= 3; variant++) {
		struct fake fake;
		struct stoker *stoker = attach(&fake, serve_stats, variant);
		const struct stoker_stats *stats;
		assert_int_equal(stoker_stats(stoker, &stats), -EPROTO);
		assert_says(stoker, "statistics that are not a map");
		fake_leave(&fake, stoker);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_batch_again),	 cmocka_unit_test(test_what_goes_wrong),
		cmocka_unit_test(test_no_such_batch),	 cmocka_unit_test(test_statistics),
		cmocka_unit_test(test_wrong_statistics),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
