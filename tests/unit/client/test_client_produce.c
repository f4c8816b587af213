/* SPDX-License-Identifier: MIT */
/* stoker_produce() of libstoker: pictures of a Map, good and hostile, and structs of other
 * versions. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/c/stoker.h"
#include "proto/pack.h"
#include "tests/unit/client/fake.h"
#include "tests/unit/test.h"

#define TRAY 4096
#define PART 1024 /* where the part for records begins */
#define SECRET "0123456789abcdef"

/* Numbers of a sample of WORK: its place, and where its picture lies. */
struct asked {
	uint32_t count;
	uint64_t numbers[6];
};

static int tray_fd;
static struct asked asked;
static struct stoker_sample seen;
static uint8_t seen_bytes[6];
static struct message_made made; /* its list is not kept */

static void say_tray(struct fake *fake)
{
	struct message producer = message_init(MESSAGE_PRODUCER);
	uint8_t pixels[] = {1, 2, 3, 4, 5, 6};
	tray_fd = memfd_create("tray", MFD_CLOEXEC);
	assert_int_equal(ftruncate(tray_fd, TRAY), 0);
	assert_int_equal(pwrite(tray_fd, pixels, sizeof(pixels), 64), sizeof(pixels));
	producer.producer.seq = fake->heard.produce.seq;
	producer.producer.bytes = TRAY;
	producer.producer.deadline_ms = 1000;
	fake_say(fake, &producer, tray_fd);
}

static void say_work(struct fake *fake)
{
	uint8_t packed[128];
	struct packer packer = packer_over(packed, sizeof(packed));
	struct message work = message_init(MESSAGE_WORK);
	pack_list(&packer, 1);
	pack_list(&packer, asked.count);
	for (uint32_t i = 0; i < asked.count; i++)
		pack_uint(&packer, asked.numbers[i]);
	work.work.group = 1;
	work.work.offset = PART;
	work.work.bytes = TRAY - PART;
	work.work.seed = 9;
	assert_int_equal(packer_bytes(&packer, &work.work.samples.packed), 0);
	fake_say(fake, &work, -1);
}

/* One sample; then the connection ends. */
static void serve_work(struct fake *fake)
{
	fake_welcome(fake);
	if (!fake_hear_kind(fake, MESSAGE_PRODUCE))
		return;
	say_tray(fake);
	say_work(fake);
	if (fake_hear(fake) && fake->heard.kind == MESSAGE_MADE)
		made = fake->heard.made;
	close(tray_fd);
}

static int64_t make(void *context, const struct stoker_sample *sample, void *room, size_t bytes,
		    char words[STOKER_WORDS])
{
	(void)context;
	(void)words;
	assert_int_equal(bytes, TRAY - PART);
	seen = *sample;
	if (sample->picture)
		memcpy(seen_bytes, sample->picture, sizeof(seen_bytes));
	memset(room, 7, 5);
	return 5;
}

static struct stoker_producer producer_of(int map)
{
	struct stoker_producer producer = STOKER_PRODUCER_INIT;
	producer.code = "negative 1";
	producer.secret = SECRET;
	producer.make = make;
	producer.map = map;
	return producer;
}

/* What stoker_produce() returns for a daemon that asks for this sample. */
static int produce(struct stoker *stoker, struct fake *fake, const struct stoker_producer *producer,
		   struct asked sample)
{
	asked = sample;
	seen = (struct stoker_sample){0};
	made = (struct message_made){0};
	fake_start(fake, serve_work);
	assert_int_equal(stoker_connect(stoker, fake->path), 0);
	return stoker_produce(stoker, producer);
}

static void test_a_picture(void **state)
{
	struct fake fake;
	struct stoker *stoker = stoker_new();
	struct stoker_producer producer = producer_of(1);
	static const uint8_t pixels[] = {1, 2, 3, 4, 5, 6};
	(void)state;
	assert_int_equal(produce(stoker, &fake, &producer, (struct asked){6, {4, 1, 3, 64, 1, 2}}),
			 -ECONNRESET);
	assert_int_equal(seen.index, 4);
	assert_int_equal(seen.epoch, 1);
	assert_int_equal(seen.position, 3);
	assert_int_equal(seen.seed, 9);
	assert_int_equal(seen.height, 1);
	assert_int_equal(seen.width, 2);
	assert_memory_equal(seen_bytes, pixels, sizeof(pixels));
	fake_leave(&fake, stoker);
	assert_int_equal(made.group, 1);
}

static void test_no_picture(void **state)
{
	struct fake fake;
	struct stoker *stoker = stoker_new();
	struct stoker_producer producer = producer_of(0);
	(void)state;
	assert_int_equal(produce(stoker, &fake, &producer, (struct asked){3, {4, 1, 3}}),
			 -ECONNRESET);
	assert_int_equal(seen.index, 4);
	assert_null(seen.picture);
	assert_int_equal(seen.height, 0);
	fake_leave(&fake, stoker);
	assert_int_equal(made.group, 1);
}

static void test_wrong_samples(void **state)
{
	static const struct {
		int map;
		struct asked sample;
	} wrong[] = {
		{1, {3, {4, 1, 3}}},
		{0, {6, {4, 1, 3, 64, 1, 2}}},
		{1, {5, {4, 1, 3, 64, 1}}},
		{1, {6, {4, 1, 3, TRAY + 1, 1, 1}}},
		{1, {6, {4, 1, 3, TRAY, 1, 1}}},
		{1, {6, {4, 1, 3, TRAY - 5, 1, 2}}},
		{1, {6, {4, 1, 3, UINT64_MAX, 1, 2}}},
		{1, {6, {4, 1, 3, 64, 0, 2}}},
		{1, {6, {4, 1, 3, 64, 1, 0}}},
		{1, {6, {4, 1, 3, 64, UINT64_MAX, 1}}},
		{1, {6, {4, 1, 3, 64, 1, UINT64_MAX}}},
		{1, {6, {4, 1, 3, 64, 1ULL << 32, 1ULL << 32}}},
		{1, {6, {4, 1, 3, 64, 0x55555556, 3}}},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct fake fake;
		struct stoker *stoker = stoker_new();
		struct stoker_producer producer = producer_of(wrong[i].map);
		assert_int_equal(produce(stoker, &fake, &producer, wrong[i].sample), -EPROTO);
		assert_says(stoker, "a picture outside of the tray");
		assert_int_equal(seen.seed, 0);
		fake_leave(&fake, stoker);
	}
}

static void test_a_picture_at_the_end(void **state)
{
	struct fake fake;
	struct stoker *stoker = stoker_new();
	struct stoker_producer producer = producer_of(1);
	(void)state;
	assert_int_equal(
		produce(stoker, &fake, &producer, (struct asked){6, {0, 0, 0, TRAY - 6, 2, 1}}),
		-ECONNRESET);
	assert_int_equal(seen.height, 2);
	fake_leave(&fake, stoker);
}

/* A program that was compiled before there was `map` makes samples of a dataset. */
static void test_an_older_struct(void **state)
{
	struct fake fake;
	struct stoker *stoker = stoker_new();
	struct stoker_producer producer = producer_of(1);
	(void)state;
	producer.size = offsetof(struct stoker_producer, map);
	assert_int_equal(produce(stoker, &fake, &producer, (struct asked){3, {4, 1, 3}}),
			 -ECONNRESET);
	assert_int_equal(seen.index, 4);
	fake_leave(&fake, stoker);
}

static void test_wrong_structs(void **state)
{
	struct {
		struct stoker_producer producer;
		char more[8];
	} newer = {producer_of(1), {0}};
	struct stoker *stoker = stoker_new();
	(void)state;
	newer.producer.size = sizeof(newer);
	newer.more[7] = 1;
	assert_int_equal(stoker_produce(stoker, &newer.producer), -E2BIG);
	assert_says(stoker, "older than the program");
	newer.more[7] = 0; /* not set: it is taken */
	assert_int_equal(stoker_produce(stoker, &newer.producer), -ENOTCONN);
	newer.producer.size = offsetof(struct stoker_producer, map) - 1;
	assert_int_equal(stoker_produce(stoker, &newer.producer), -EINVAL);
	assert_says(stoker, "STOKER_PRODUCER_INIT");
	newer.producer = producer_of(1);
	newer.producer.make = NULL;
	assert_int_equal(stoker_produce(stoker, &newer.producer), -EINVAL);
	assert_int_equal(stoker_produce(stoker, NULL), -EINVAL);
	stoker_free(stoker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_picture),	cmocka_unit_test(test_no_picture),
		cmocka_unit_test(test_wrong_samples),	cmocka_unit_test(test_a_picture_at_the_end),
		cmocka_unit_test(test_an_older_struct), cmocka_unit_test(test_wrong_structs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
