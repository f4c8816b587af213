/* SPDX-License-Identifier: MIT */
/* libstoker and a daemon that refuses, stops, dies or lies: an error with a text, never a crash. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/c/ring.h"
#include "client/c/stoker.h"
#include "tests/unit/client/fake.h"
#include "tests/unit/test.h"

static struct stoker_options options_of(const char *dataset)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	options.dataset = dataset;
	options.transforms = "Resize(size=[2, 3])";
	options.batch_size = 4;
	options.reconnect_ms = -1; /* reconnecting has tests of its own */
	return options;
}

static struct stoker *attach(struct fake *fake, fake_script *script)
{
	struct stoker_options options = options_of("/data");
	return fake_serve(fake, script, &options);
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

static void serve_bad_sample(struct fake *fake)
{
	struct message bad = message_init(MESSAGE_BAD_SAMPLE);
	fake_welcome(fake);
	fake_attach(fake);
	bad.bad_sample.position = 1;
	bad.bad_sample.sample = 17;
	bad.bad_sample.code = ERROR_SAMPLE_CORRUPT;
	bad.bad_sample.name = (struct text){"sample_corrupt", 14};
	bad.bad_sample.path = (struct text){"cats/1.jpg", 10};
	bad.bad_sample.text = (struct text){"cut short", 9};
	bad.bad_sample.next_position = 4;
	fake_say(fake, &bad, -1);
	struct message batch = fake_batch(1, 4, (struct run){0, 4});
	fake_say(fake, &batch, -1);
	fake_hear(fake);
}

static void test_a_bad_sample(void **state)
{
	struct fake fake;
	struct stoker *stoker = attach(&fake, serve_bad_sample);
	const struct stoker_batch *batch;
	(void)state;
	assert_int_equal(stoker_next(stoker, &batch, -1), -EBADMSG);
	assert_string_equal(stoker_error(stoker),
			    "epoch 0, position 1: sample 17 (cats/1.jpg): cut short "
			    "(sample_corrupt)");
	assert_int_equal(stoker_next(stoker, &batch, -1), 1);
	assert_int_equal(batch->position, 4);
	fake_leave(&fake, stoker);
}

static void serve_then_stop(struct fake *fake)
{
	struct message goaway = message_init(MESSAGE_GOAWAY);
	fake_welcome(fake);
	fake_attach(fake);
	struct message batch = fake_batch(1, 0, (struct run){2, 4});
	fake_say(fake, &batch, -1);
	goaway.goaway.text = (struct text){"SIGTERM", 7};
	goaway.goaway.deadline_ms = 100;
	fake_say(fake, &goaway, -1);
	fake_hear_kind(fake, MESSAGE_RELEASE);
}

static void test_a_daemon_that_stops(void **state)
{
	struct fake fake;
	struct stoker *stoker = attach(&fake, serve_then_stop);
	const struct stoker_batch *batch, *none;
	(void)state;
	assert_int_equal(stoker_next(stoker, &batch, -1), 1);
	assert_int_equal(stoker_next(stoker, &none, -1), -ESHUTDOWN);
	assert_says(stoker, "SIGTERM");
	assert_int_equal(stoker_next(stoker, &none, -1), -ESHUTDOWN);
	assert_int_equal(stoker_release(stoker, batch), 0);
	fake_leave(&fake, stoker);
}

static void serve_then_die(struct fake *fake)
{
	fake_welcome(fake);
	fake_attach(fake);
	struct message batch = fake_batch(1, 0, (struct run){2, 4});
	fake_say(fake, &batch, -1);
}

/* FAULTS 22: pixels stay readable until the batch is released. */
static void test_a_daemon_that_dies(void **state)
{
	struct fake fake;
	struct stoker *stoker = attach(&fake, serve_then_die);
	const struct stoker_batch *batch, *none;
	struct stoker_options options = options_of("/data");
	(void)state;
	assert_int_equal(stoker_next(stoker, &batch, -1), 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(stoker_next(stoker, &none, -1), -ECONNRESET);
		assert_says(stoker, "closed the connection");
	}
	assert_int_equal(stoker_attach(stoker, &options), -ECONNRESET);
	fake_stop(&fake);
	assert_int_equal(stoker_connect(stoker, fake.path), -ENOENT);
	assert_run(&batch->run[0], 2);
	assert_int_equal(stoker_release(stoker, batch), 0);
	stoker_free(stoker);
}

static void serve_refusal(struct fake *fake)
{
	fake_welcome(fake);
	while (fake_hear_kind(fake, MESSAGE_ATTACH))
		fake_error(fake, fake->heard.attach.seq, fake->variant);
}

static void test_refusals(void **state)
{
	static const int cases[][2] = {
		{ERROR_DATASET, -EINVAL},     {ERROR_PIPELINE, -EINVAL}, {ERROR_ARGUMENT, -EINVAL},
		{ERROR_MEMORY, -ENOSPC},      {ERROR_TOKEN, -ESTALE},	 {ERROR_PERMISSION, -EPERM},
		{ERROR_STOPPING, -ESHUTDOWN}, {ERROR_INTERNAL, -EIO},	 {ERROR_STATE, -EPROTO},
		{ERROR_FIELD, -EINVAL},
	};
	struct stoker_options options = options_of("/data");
	struct stoker *stoker = stoker_new();
	struct fake fake;
	(void)state;
	fake_start(&fake, serve_refusal);
	assert_int_equal(stoker_connect(stoker, fake.path), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fake.variant = (uint32_t)cases[i][0];
		assert_int_equal(stoker_attach(stoker, &options), cases[i][1]);
		assert_says(stoker, "because");
		assert_says(stoker, error_name((unsigned)cases[i][0]));
	}
	fake_leave(&fake, stoker);
}

static void serve_full(struct fake *fake)
{
	fake_error(fake, 0, ERROR_TOO_MANY_CONNECTIONS);
}

static void serve_old(struct fake *fake)
{
	if (fake_hear(fake))
		fake_error(fake, fake->heard.hello.seq, ERROR_VERSION);
}

static void test_refused_connections(void **state)
{
	struct stoker *stoker = stoker_new();
	struct fake fake;
	(void)state;
	fake_start(&fake, serve_full);
	assert_int_equal(stoker_connect(stoker, fake.path), -EBUSY);
	fake_stop(&fake);
	fake_start(&fake, serve_old);
	assert_int_equal(stoker_connect(stoker, fake.path), -EPROTONOSUPPORT);
	fake_leave(&fake, stoker);
}

/* -- a hostile daemon: FAULTS 48 ---------------------------------------------------------- */

static int count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* What can be wrong with a ring's header, one at a time. */
static const struct {
	size_t offset, size;
	uint64_t value;
	const char *words;
} headers[] = {
#define AT(member)                                                                                 \
	offsetof(struct segment_header, member), sizeof(((struct segment_header *)0)->member)
	{AT(magic), 0, "not of version"},
	{AT(version), 3, "not of version"},
	{AT(version), 0, "not of version"},
	{AT(version), 2, "invalid numbers"},
	{AT(header_bytes), 8192, "invalid numbers"},
	{AT(total_bytes), 3 * SEGMENT_PAGE, "another ring"},
	{AT(ring), 8, "another ring"},
	{AT(slots), 0, "invalid numbers"},
	{AT(slots), UINT32_MAX, "outside of the ring"},
	{AT(slots), 513, "outside of the ring"},
	{AT(n_fields), 17, "invalid numbers"},
	{AT(n_fields), UINT32_MAX, "invalid numbers"},
	{AT(n_fields), 2, "no field index"},
	{AT(fields[0].name), 0, "without a valid name"},
	{AT(fields[0].name), 'i', "no field image"},
	{AT(fields[0].dtype), 0, "no field image of a known type"},
	{AT(fields[0].dims), 7, "too many dimensions"},
	{AT(fields[0].dims), UINT32_MAX, "too many dimensions"},
	{AT(fields[0].shape[0]), 3, "inconsistent sizes"},
	{AT(fields[0].shape[0]), 0, "inconsistent sizes"},
	{AT(fields[0].stride), 0, "inconsistent sizes"},
	{AT(fields[0].offset), 0, "outside of the ring"},
	{AT(fields[0].offset), SEGMENT_PAGE + 2, "inconsistent sizes"},
	{AT(fields[0].offset), 4 * SEGMENT_PAGE - 4, "outside of the ring"},
	{AT(fields[0].offset), UINT64_MAX - 3, "outside of the ring"},
	{AT(fields[1].offset), 4 * SEGMENT_PAGE, "outside of the ring"},
	{AT(fields[2].dims), 1, "inconsistent sizes"},
	{AT(fields[2].dtype), 0x3774616f6c66, "no field index of a known type"},
#undef AT
};

static void test_ring_headers(void **state)
{
	struct segment_header header = fake_header();
	struct ring ring = {.bytes = fake_ring_bytes()};
	struct fault fault;
	(void)state;
	assert_int_equal(ring_parse(&ring, &header, sizeof(header), FAKE_RING, &fault), 0);
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
		uint64_t value[4] = {headers[i].value};
		header = fake_header();
		memcpy((char *)&header + headers[i].offset, value, headers[i].size);
		assert_int_equal(ring_parse(&ring, &header, sizeof(header), FAKE_RING, &fault),
				 -EPROTO);
		if (!strstr(fault.text, headers[i].words))
			fail_msg("row %zu: '%s' does not say '%s'", i, fault.text,
				 headers[i].words);
	}
	/* Shapes whose product overflows to what the stride says. */
	header = fake_header();
	header.fields[0].dims = 4;
	for (int i = 0; i < 4; i++)
		header.fields[0].shape[i] = 65536;
	header.fields[0].stride = 0;
	assert_int_equal(ring_parse(&ring, &header, sizeof(header), FAKE_RING, &fault), -EPROTO);
	header = fake_header();
	strcpy(header.fields[2].dtype, "float32");
	header.fields[2].stride = 4;
	assert_int_equal(ring_parse(&ring, &header, sizeof(header), FAKE_RING, &fault), -EPROTO);
	assert_non_null(strstr(fault.text, "not one int64"));
	ring_deinit_fields(&ring);
}

/* Wrong answers to ATTACH, by number. */
static void serve_wrong_attach(struct fake *fake)
{
	struct segment_header header = fake_header();
	unsigned seals = F_SEAL_SHRINK | F_SEAL_GROW;
	int fds[9], n = 1;
	uint8_t frame[4096];
	fake_welcome(fake);
	if (!fake_hear(fake))
		return;
	struct message attached = fake_attached(fake);
	switch (fake->variant) {
	case 0: /* no descriptor */
		n = 0;
		break;
	case 1: /* two */
		n = 2;
		break;
	case 2: /* more than there is room for */
		n = 9;
		break;
	case 3:
		seals = 0;
		break;
	case 4: /* larger than the file */
		attached.attached.bytes *= 2;
		break;
	case 5:
		attached.attached.ring++;
		break;
	case 6:
		attached.attached.transport = (struct text){"path", 4};
		break;
	case 7: /* not what was asked for */
		attached = message_init(MESSAGE_OK);
		attached.ok.seq = fake->heard.attach.seq;
		n = 0;
		break;
	case 8: /* a descriptor with a message that has none */
		attached = message_init(MESSAGE_PROGRESS);
		attached.progress.seq = fake->heard.attach.seq;
		break;
	case 9: /* a request, from the daemon */
		attached = fake->heard;
		n = 0;
		break;
	default:
		header.slots = 0;
	}
	for (int i = 0; i < n; i++)
		fds[i] = fake_ring(&header, seals);
	long size = message_encode(&attached, frame, sizeof(frame));
	fake_say_bytes(fake, frame, (size_t)size, fds, n);
	for (int i = 0; i < n; i++)
		close(fds[i]);
	fake_hear(fake);
}

static void test_wrong_attaches(void **state)
{
	struct stoker_options options = options_of("/data");
	int before = count_fds();
	(void)state;
	for (uint32_t variant = 0; variant <= 10; variant++) {
		struct stoker *stoker = stoker_new();
		struct fake fake;
		fake_start(&fake, serve_wrong_attach);
		fake.variant = variant;
		assert_int_equal(stoker_connect(stoker, fake.path), 0);
		assert_int_equal(stoker_attach(stoker, &options), -EPROTO);
		assert_says(stoker, "violated the protocol");
		assert_null(stoker_info(stoker));
		assert_int_equal(stoker_attach(stoker, &options), -EPROTO);
		fake_leave(&fake, stoker);
	}
	assert_int_equal(count_fds(), before);
}

static void serve_wrong_batch(struct fake *fake)
{
	static const struct runs runs[] = {
		{1, {{0, 5}}},			/* more than count */
		{1, {{0, 3}}},			/* fewer */
		{1, {{5, 4}}},			/* beyond the last slot */
		{1, {{8, 4}}},			/* behind it */
		{1, {{UINT32_MAX, 4}}},		/* far behind */
		{2, {{0, 3}, {8, 1}}},		/* the second one */
		{2, {{0, UINT32_MAX}, {0, 5}}}, /* 4, modulo 2^32 */
	}; /* ... padded, substituted, more than was asked for, wrapped */
	fake_welcome(fake);
	fake_attach(fake);
	struct message batch = fake_batch(1, 0, (struct run){0, fake->variant == 9 ? 5 : 4});
	if (fake->variant < 7)
		batch.batch.runs = runs[fake->variant];
	else if (fake->variant == 7)
		batch.batch.padded = 5;
	else if (fake->variant == 8)
		batch.batch.substituted = 5;
	else if (fake->variant == 10)
		batch.batch.wrapped = 5;
	fake_say(fake, &batch, -1);
	fake_hear(fake);
}

static void test_wrong_batches(void **state)
{
	(void)state;
	for (uint32_t variant = 0; variant <= 10; variant++) {
		struct stoker_options options = options_of("/data");
		struct stoker *stoker = stoker_new();
		const struct stoker_batch *batch;
		struct fake fake;
		fake_start(&fake, serve_wrong_batch);
		fake.variant = variant;
		assert_int_equal(stoker_connect(stoker, fake.path), 0);
		assert_int_equal(stoker_attach(stoker, &options), 0);
		assert_int_equal(stoker_next(stoker, &batch, -1), -EPROTO);
		assert_says(stoker, "outside of the ring");
		fake_leave(&fake, stoker);
	}
}

static const struct {
	const char *bytes;
	size_t size;
	int result;
} garbage[] = {
	{"\0\0\0\0", 4, -EPROTO},		      /* FAULTS 41 */
	{"\0\1\0\1\x80", 5, -EPROTO},		      /* one more than may be */
	{"\xff\xff\xff\xff", 4, -EPROTO},	      /* and many more */
	{"HTTP/1.1 200 OK\r\n", 17, -EPROTO},	      /* FAULTS 46 */
	{"\0\0\0\5\xdd\x7f\xff\xff\xff", 9, -EPROTO}, /* FAULTS 39: a list of 2^31 */
	{"\0\0\0\1\xc1", 5, -EPROTO},
	{"\0\0\0\1\x80", 5, -EPROTO},	    /* a map without type */
	{"\0\0\0\xff\x81", 5, -ECONNRESET}, /* FAULTS 8: in the middle of a frame */
	{"\0\0", 2, -ECONNRESET},
	{"", 0, -ECONNRESET},
};

static void serve_garbage(struct fake *fake)
{
	fake_welcome(fake);
	fake_attach(fake);
	fake_say_bytes(fake, garbage[fake->variant].bytes, garbage[fake->variant].size, NULL, 0);
}

static void test_garbage(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof(garbage) / sizeof(*garbage); i++) {
		struct stoker_options options = options_of("/data");
		struct stoker *stoker = stoker_new();
		const struct stoker_batch *batch;
		struct fake fake;
		fake_start(&fake, serve_garbage);
		fake.variant = i;
		assert_int_equal(stoker_connect(stoker, fake.path), 0);
		assert_int_equal(stoker_attach(stoker, &options), 0);
		assert_int_equal(stoker_next(stoker, &batch, -1), garbage[i].result);
		fake_leave(&fake, stoker);
	}
}

/* A daemon that announces for ever and never reads: the client holds a bounded amount. */
static void serve_without_reading(struct fake *fake)
{
	fake_welcome(fake);
	fake_attach(fake);
	for (uint64_t n = 0; n < 200000; n++) {
		struct message batch = fake_batch_number(n, (struct run){0, 4});
		uint8_t frame[256];
		long size = message_encode(&batch, frame, sizeof(frame));
		if (send(fake->socket, frame, (size_t)size, MSG_NOSIGNAL) != size)
			return;
	}
}

static void test_a_daemon_that_does_not_read(void **state)
{
	struct stoker_options options = options_of("/data");
	struct stoker *stoker = stoker_new();
	const struct stoker_batch *batch;
	struct fake fake;
	int result = 0;
	(void)state;
	fake_start(&fake, serve_without_reading);
	assert_int_equal(stoker_connect(stoker, fake.path), 0);
	assert_int_equal(stoker_attach(stoker, &options), 0);
	while (result == 0 && stoker_next(stoker, &batch, -1) > 0)
		result = stoker_release(stoker, batch);
	assert_int_equal(result, -EPROTO);
	assert_says(stoker, "does not read");
	fake_leave(&fake, stoker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_bad_sample),
		cmocka_unit_test(test_a_daemon_that_stops),
		cmocka_unit_test(test_a_daemon_that_dies),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_refused_connections),
		cmocka_unit_test(test_ring_headers),
		cmocka_unit_test(test_wrong_attaches),
		cmocka_unit_test(test_wrong_batches),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_a_daemon_that_does_not_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
