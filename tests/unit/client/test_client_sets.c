/* SPDX-License-Identifier: MIT */
/* Joined datasets, and the names of classes, asked for between batches. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/c/stoker.h"
#include "proto/pack.h"
#include "tests/unit/client/fake.h"
#include "tests/unit/test.h"

#define ANOTHER_RING (FAKE_RING + 1)
#define MOST 4096 /* messages that a client keeps while it waits for another */

static struct stoker_options options_of(const char *dataset)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	options.dataset = dataset;
	options.batch_size = 4;
	options.reconnect_ms = -1;
	return options;
}

/* -- parts --------------------------------------------------------------------------------- */

static char asked[256]; /* the ATTACH's dataset, each map as its keys and values */

static void note(const struct value *map)
{
	size_t size = strlen(asked);
	for (uint32_t i = 0; i < value_count(map); i++) {
		struct text key = value_key(map, i);
		const struct value *value = value_at(map, i);
		if (value_kind(value) == VALUE_TEXT)
			size += (size_t)snprintf(
				asked + size, sizeof(asked) - size, "%.*s=%.*s ", (int)key.size,
				key.data, (int)value_text(value).size, value_text(value).data);
		for (uint32_t k = 0; value_kind(value) == VALUE_LIST && k < value_count(value);
		     k++) {
			strcat(asked, "| ");
			note(value_item(value, k));
			size = strlen(asked);
		}
	}
}

static void serve_parts(struct fake *fake)
{
	fake_welcome(fake);
	asked[0] = '\0';
	fake_attach(fake);
	note(fake->heard.attach.dataset.value);
	fake_hear_kind(fake, MESSAGE_HELLO); /* does not come */
}

static void test_parts(void **state)
{
	struct stoker_options one = options_of("/one/"), two = options_of("/two.tsv");
	const struct stoker_options *const parts[] = {&one, &two, &one, NULL};
	struct stoker_options options = options_of(NULL);
	struct fake fake;
	(void)state;
	two.dataset_root = "/root";
	two.dataset_format = "tsv";
	two.batch_size = 0;				   /* not read */
	two.size = offsetof(struct stoker_options, parts); /* of an older header */
	options.parts = parts;
	fake_leave(&fake, fake_serve(&fake, serve_parts, &options));
	assert_string_equal(asked, "| path=/one/ | path=/two.tsv root=/root format=tsv "
				   "| path=/one/ ");
}

static void test_wrong_parts(void **state)
{
	struct stoker_options one = options_of("/one"), nothing = options_of(NULL), joined;
	const struct stoker_options *const good[] = {&one, &one, NULL};
	const struct stoker_options *const empty[] = {&one, &nothing, NULL};
	const struct stoker_options *const nested[] = {&one, &joined, NULL};
	const struct stoker_options zero = {0}, *const unset[] = {&zero, NULL};
	const struct {
		const char *dataset, *split;
		const struct stoker_options *const *parts;
		const char *words;
	} cases[] = {
		{"/one", NULL, good, "either parts or dataset"},
		{NULL, "test", good, "either parts or dataset"},
		{NULL, NULL, empty, "dataset is missing"},
		{NULL, NULL, nested, "a part cannot have parts"},
		{NULL, NULL, unset, "initialise them with STOKER_OPTIONS_INIT"},
		{NULL, NULL, NULL, "dataset is missing"},
	};
	(void)state;
	joined = options_of(NULL);
	joined.parts = good;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct stoker_options options = options_of(cases[i].dataset);
		struct stoker *stoker = stoker_new();
		options.dataset_split = cases[i].split;
		options.parts = cases[i].parts;
		assert_int_equal(stoker_attach(stoker, &options), -EINVAL);
		if (!strstr(stoker_error(stoker), cases[i].words))
			fail_msg("'%s' does not say '%s'", stoker_error(stoker), cases[i].words);
		stoker_free(stoker);
	}
}

/* -- classes --------------------------------------------------------------------------------- */

static void say_batch(struct fake *fake, uint64_t lease, uint32_t slot)
{
	struct message batch = fake_batch(lease, 4 * (lease - 1), (struct run){slot, 4});
	fake_say(fake, &batch, -1);
}

static void say_ring(struct fake *fake)
{
	struct segment_header header = fake_header();
	struct message ring = message_init(MESSAGE_RING);
	header.ring = ANOTHER_RING;
	int fd = fake_ring(&header, F_SEAL_SHRINK);
	ring.ring.ring = ANOTHER_RING;
	ring.ring.transport = (struct text){"fd", 2};
	ring.ring.bytes = fake_ring_bytes();
	fake_say(fake, &ring, fd);
	close(fd);
}

/* Answers the LIST just heard. A NULL name is a number. */
static void say_classes(struct fake *fake, const char *const *names, uint32_t count, uint64_t next)
{
	struct message listing = message_init(MESSAGE_LISTING);
	struct packer *packer;
	if (packer_new(&packer) < 0)
		return;
	pack_list(packer, count);
	for (uint32_t i = 0; i < count; i++) {
		if (names[i])
			pack_string(packer, names[i]);
		else
			pack_uint(packer, 5);
	}
	if (packer_bytes(packer, &listing.listing.items.packed) == 0) {
		listing.listing.seq = fake->heard.list.seq;
		listing.listing.next = next;
		fake_say(fake, &listing, -1);
	}
	packer_free(packer);
}

static int lists; /* heard */

static bool hear_list(struct fake *fake, uint64_t after)
{
	bool good = fake_hear_kind(fake, MESSAGE_LIST) &&
		    text_equals(fake->heard.list.what, "classes") &&
		    fake->heard.list.after == after;
	lists += good;
	return good;
}

static void serve_small_ring(struct fake *fake)
{
	struct segment_header small = fake_header();
	small.slots = 4; /* what comes behind the RING does not fit in it */
	fake_welcome(fake);
	if (!fake_hear_kind(fake, MESSAGE_ATTACH))
		return;
	struct message attached = fake_attached(fake);
	int fd = fake_ring(&small, F_SEAL_SHRINK);
	fake_say(fake, &attached, fd);
	close(fd);
}

/* Everything that may come before, between and after two pages. */
static void serve_classes(struct fake *fake)
{
	static const char *const names[] = {"cat", "dog", "a very \xff name"};
	struct message end = message_init(MESSAGE_END);
	serve_small_ring(fake);
	say_batch(fake, 1, 0);
	if (!hear_list(fake, 0))
		return;
	say_ring(fake);
	say_batch(fake, 2, 4);
	say_classes(fake, names, 2, 2);
	if (!hear_list(fake, 2))
		return;
	struct message bad = message_init(MESSAGE_BAD_SAMPLE);
	bad.bad_sample.position = 8;
	bad.bad_sample.next_position = 12;
	bad.bad_sample.code = ERROR_SAMPLE_READ;
	bad.bad_sample.name = (struct text){"sample_read", 11};
	bad.bad_sample.text = (struct text){"gone", 4};
	fake_say(fake, &bad, -1);
	say_classes(fake, names + 2, 1, 0);
	say_batch(fake, 4, 0);
	fake_say(fake, &end, -1);
	fake_hear_kind(fake, MESSAGE_HELLO); /* does not come */
}

static bool is_readable(int fd)
{
	struct pollfd poll_ = {fd, POLLIN, 0};
	return poll(&poll_, 1, 5000) == 1;
}

static void assert_next(struct stoker *stoker, uint64_t position, int64_t first)
{
	const struct stoker_batch *batch;
	if (stoker_next(stoker, &batch, 5000) != 1)
		fail_msg("%s", stoker_error(stoker));
	assert_int_equal(batch->position, position);
	assert_int_equal(batch->run[0].indexes[3], first + 3);
	assert_int_equal(stoker_release(stoker, batch), 0);
}

static void test_classes_between_batches(void **state)
{
	struct stoker_options options = options_of("/data");
	struct fake fake;
	struct stoker *stoker = fake_serve(&fake, serve_classes, &options);
	const char *const *names, *const *again;
	const struct stoker_batch *batch;
	int fd = stoker_fd(stoker);
	(void)state;
	lists = 0;
	assert_int_equal(stoker_classes(stoker, &names), 3);
	assert_string_equal(names[0], "cat");
	assert_string_equal(names[1], "dog");
	assert_string_equal(names[2], "a very \xff name");
	assert_null(names[3]);
	for (int i = 0; i < 2; i++) {
		assert_true(is_readable(fd)); /* what came meanwhile is no longer on the socket */
		assert_next(stoker, 4u * (unsigned)i, 4 * i);
		assert_int_equal(stoker_classes(stoker, &again), 3);
		assert_ptr_equal(again, names);
	}
	assert_int_equal(stoker_next(stoker, &batch, 5000), -EBADMSG);
	assert_next(stoker, 12, 0);
	assert_int_equal(stoker_next(stoker, &batch, 5000), 0);
	assert_int_equal(lists, 2);
	fake_leave(&fake, stoker);
}

/* The caller never takes the batches that came; they are released. */
static void serve_detach(struct fake *fake)
{
	struct message ok = message_init(MESSAGE_OK);
	fake_welcome(fake);
	fake_attach(fake);
	if (!hear_list(fake, 0))
		return;
	say_batch(fake, 1, 0);
	say_ring(fake);
	say_batch(fake, 2, 4);
	say_classes(fake, NULL, 0, 0);
	if (!fake_hear_kind(fake, MESSAGE_DETACH))
		return;
	ok.ok.seq = fake->heard.detach.seq;
	fake_say(fake, &ok, -1);
	fake_hear_kind(fake, MESSAGE_HELLO); /* does not come */
}

static void test_detach_behind_classes(void **state)
{
	struct stoker_options options = options_of("/data");
	struct fake fake;
	struct stoker *stoker = fake_serve(&fake, serve_detach, &options);
	const char *const *names;
	(void)state;
	assert_int_equal(stoker_classes(stoker, &names), 0);
	assert_null(names[0]);
	assert_int_equal(stoker_detach(stoker), 0);
	assert_int_equal(stoker_classes(stoker, &names), -ENOTCONN);
	fake_leave(&fake, stoker);
	assert_int_equal(fake.releases, 2);
}

/* A daemon that violates the protocol, in several ways. */
static void serve_wrong(struct fake *fake)
{
	static const char *const names[] = {"cat", NULL};
	fake_welcome(fake);
	fake_attach(fake);
	if (!hear_list(fake, 0))
		return;
	if (fake->variant == 0)
		return;
	if (fake->variant == 1)
		fake_error(fake, fake->heard.list.seq, ERROR_INTERNAL);
	if (fake->variant == 2)
		say_classes(fake, names, 2, 0);
	if (fake->variant == 3) {
		say_classes(fake, names, 1, 1);
		if (hear_list(fake, 1))
			say_classes(fake, names, 1, 1);
	}
	for (uint64_t i = 1; fake->variant == 4 && i <= MOST + 1; i++)
		say_batch(fake, i, 0);
	fake_hear_kind(fake, MESSAGE_HELLO); /* does not come */
}

static void test_wrong_classes(void **state)
{
	static const struct {
		int result;
		const char *words;
	} cases[] = {
		{-ECONNRESET, "closed the connection"},
		{-EIO, "because"},
		{-EPROTO, "a LISTING of names that are not texts"},
		{-EPROTO, "a LISTING without end"},
		{-EPROTO, "it sends many messages"},
	};
	(void)state;
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct stoker_options options = options_of("/data");
		struct fake fake;
		struct stoker *stoker = stoker_new();
		const char *const *names;
		fake_start(&fake, serve_wrong);
		fake.variant = i;
		assert_int_equal(stoker_connect(stoker, fake.path), 0);
		assert_int_equal(stoker_attach(stoker, &options), 0);
		assert_int_equal(stoker_classes(stoker, &names), cases[i].result);
		if (!strstr(stoker_error(stoker), cases[i].words))
			fail_msg("'%s' does not say '%s'", stoker_error(stoker), cases[i].words);
		fake_leave(&fake, stoker);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_wrong_parts),
		cmocka_unit_test(test_classes_between_batches),
		cmocka_unit_test(test_detach_behind_classes),
		cmocka_unit_test(test_wrong_classes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
