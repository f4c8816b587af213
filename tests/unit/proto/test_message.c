/* SPDX-License-Identifier: MIT */
/*
 * The codec against the tables: every field of every message with every type of msgpack, at and
 * beyond its bounds, missing and twice; the texts of the faults; defaults; what does not fit.
 * FAULTS 42. The payloads are packed here, and the rows of the tables are expanded here again, so
 * that message.c does not test itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"
#include "proto/message.h"
#include "proto/pack.h"
#include "tests/unit/test.h"
#include "tests/unit/values.h"

enum type {
	TYPE_uint,
	TYPE_boolean,
	TYPE_text,
	TYPE_runs,
	TYPE_any,
};

enum need {
	OPTIONAL,
	REQUIRED,
	UNLIKE = REQUIRED, /* without `like` */
};

struct row {
	enum message_kind kind;
	const char *message, *key;
	enum type type;
	enum need need;
	uint64_t min, max;
};

/* All fields of all messages; a row without key begins a message. */
static const struct row rows[] = {
#define FIELD_ROW(type, key, need, initial, min, max, help)                                        \
	{0, NULL, #key, TYPE_##type, need, min, max},
#define MESSAGE_ROW(number, NAME, name, sender, socket, since)                                     \
	{MESSAGE_##NAME, #name, NULL, 0, 0, 0, 0}, NAME##_FIELDS(FIELD_ROW)
	MESSAGE_TABLE(MESSAGE_ROW)};
#define N_ROWS (sizeof(rows) / sizeof(*rows))

/* Values by their msgpack type, each the shortest of its form. */
static const struct {
	const char *name;
	const char *bytes;
	size_t size;
	enum type fits; /* and TYPE_any always */
	bool fits_none;
} samples[] = {
#define SAMPLE(name, bytes, fits, none)                                                            \
	{                                                                                          \
		name, bytes, sizeof(bytes) - 1, fits, none                                         \
	}
	SAMPLE("nil", "\xc0", 0, true),
	SAMPLE("false", "\xc2", TYPE_boolean, false),
	SAMPLE("true", "\xc3", TYPE_boolean, false),
	SAMPLE("negative fixint", "\xff", 0, true),
	SAMPLE("int8", "\xd0\x80", 0, true),
	SAMPLE("int16", "\xd1\x80\x00", 0, true),
	SAMPLE("int32", "\xd2\x80\x00\x00\x00", 0, true),
	SAMPLE("int64", "\xd3\x80\x00\x00\x00\x00\x00\x00\x00", 0, true),
	SAMPLE("float32", "\xca\x3f\x80\x00\x00", 0, true),
	SAMPLE("float64", "\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00", 0, true),
	SAMPLE("fixint", "\x01", TYPE_uint, false),
	SAMPLE("uint8", "\xcc\x01", TYPE_uint, false),
	SAMPLE("uint16", "\xcd\x00\x01", TYPE_uint, false),
	SAMPLE("uint32", "\xce\x00\x00\x00\x01", TYPE_uint, false),
	SAMPLE("uint64", "\xcf\x00\x00\x00\x00\x00\x00\x00\x01", TYPE_uint, false),
	SAMPLE("fixstr", "\xa1x", TYPE_text, false),
	SAMPLE("str8", "\xd9\x01x", TYPE_text, false),
	SAMPLE("str16", "\xda\x00\x01x", TYPE_text, false),
	SAMPLE("str32", "\xdb\x00\x00\x00\x01x", TYPE_text, false),
	SAMPLE("bin8", "\xc4\x01x", TYPE_text, false),
	SAMPLE("bin16", "\xc5\x00\x01x", TYPE_text, false),
	SAMPLE("bin32", "\xc6\x00\x00\x00\x01x", TYPE_text, false),
	SAMPLE("fixarray", "\x91\x92\x00\x01", TYPE_runs, false),
	SAMPLE("array16", "\xdc\x00\x01\x92\x00\x01", TYPE_runs, false),
	SAMPLE("array32", "\xdd\x00\x00\x00\x01\x92\x00\x01", TYPE_runs, false),
	SAMPLE("empty array", "\x90", 0, true),
	SAMPLE("fixmap", "\x81\xa1x\x01", 0, true),
	SAMPLE("map16", "\xde\x00\x01\xa1x\x01", 0, true),
	SAMPLE("map32", "\xdf\x00\x00\x00\x01\xa1x\x01", 0, true),
};
#define N_SAMPLES (sizeof(samples) / sizeof(*samples))

struct setup {
	struct decoder_memory *memory;
	struct packer *packer;
	struct message message;
	struct message_fault fault;
};

static int set_up(void **state)
{
	struct setup *setup = calloc(1, sizeof(*setup));

	if (!setup || decoder_memory_new(&setup->memory) || packer_new(&setup->packer))
		return -1;
	*state = setup;
	return 0;
}

static int tear_down(void **state)
{
	struct setup *setup = *state;

	decoder_memory_free(setup->memory);
	packer_free(setup->packer);
	free(setup);
	return 0;
}

static void pack_text_of(struct packer *packer, uint64_t size)
{
	static char text[PROTO_FRAME_MAX];

	assert_true(size < sizeof(text));
	memset(text, 'x', sizeof(text));
	pack_text(packer, (struct text){text, size});
}

static void pack_good(struct packer *packer, const struct row *row)
{
	if (row->type == TYPE_uint && strcmp(row->key, "seq") == 0)
		pack_uint(packer, 77);
	else if (row->type == TYPE_uint)
		pack_uint(packer, row->min);
	else if (row->type == TYPE_boolean)
		pack_boolean(packer, true);
	else if (row->type == TYPE_text)
		pack_text_of(packer, row->min);
	else
		pack_packed(packer, (struct text){"\x91\x92\x00\x01", 4});
}

enum twist {
	TWIST_REPLACE, /* the field's value is what the caller gives */
	TWIST_DROP,
	TWIST_TWICE,
};

/* A message with good values in all fields but `odd`; then decode it. */
static int decode_twisted(struct setup *setup, const struct row *first, const struct row *odd,
			  enum twist twist, struct text value)
{
	struct packer *packer = setup->packer;
	uint32_t keys = 1;
	struct text bytes;

	for (const struct row *row = first + 1; row < rows + N_ROWS && row->key; row++)
		keys += row != odd || twist == TWIST_REPLACE ? 1 : twist == TWIST_TWICE ? 2 : 0;
	packer_clear(packer);
	pack_map(packer, keys);
	pack_string(packer, "type");
	pack_uint(packer, first->kind);
	for (const struct row *row = first + 1; row < rows + N_ROWS && row->key; row++) {
		if (row == odd && twist == TWIST_DROP)
			continue;
		pack_string(packer, row->key);
		if (row == odd && twist == TWIST_REPLACE)
			pack_packed(packer, value);
		else
			pack_good(packer, row);
		if (row == odd && twist == TWIST_TWICE) {
			pack_string(packer, row->key);
			pack_good(packer, row);
		}
	}
	assert_int_equal(packer_bytes(packer, &bytes), 0);
	memset(&setup->fault, 0, sizeof(setup->fault));
	return message_decode((const uint8_t *)bytes.data, bytes.size, setup->memory,
			      &setup->message, &setup->fault);
}

/* The fault is of this field: it names message and key, and carries the request's seq. */
static void assert_fault(const struct setup *setup, const struct row *first, const struct row *odd)
{
	char name[64];

	snprintf(name, sizeof(name), "%s: %s ", first->message, odd->key);
	if (setup->fault.code != ERROR_FIELD || strncmp(setup->fault.text, name, strlen(name)) != 0)
		fail_msg("error %u, \"%s\", for %s", setup->fault.code, setup->fault.text, name);
	if (strcmp(odd->key, "seq") != 0 && strcmp(first[1].key, "seq") == 0)
		assert_int_equal(setup->fault.seq, 77);
}

static bool sample_fits(size_t sample, const struct row *row)
{
	if (row->type == TYPE_any)
		return true;
	if (samples[sample].fits_none || samples[sample].fits != row->type)
		return false;
	return row->type == TYPE_boolean || (row->min <= 1 && row->max >= 1);
}

#define FOR_EACH_FIELD(row, first)                                                                 \
	for (const struct row *row = rows, *first = rows; row < rows + N_ROWS; row++)              \
		if (!row->key)                                                                     \
			first = row;                                                               \
		else

static void test_every_field_with_every_type(void **state)
{
	struct setup *setup = *state;
	size_t good = 0, bad = 0;

	FOR_EACH_FIELD(row, first)
	{
		for (size_t i = 0; i < N_SAMPLES; i++) {
			struct text value = {samples[i].bytes, samples[i].size};
			int result = decode_twisted(setup, first, row, TWIST_REPLACE, value);

			if (result != !sample_fits(i, row))
				fail_msg("%s.%s with %s: %d %s", first->message, row->key,
					 samples[i].name, result, setup->fault.text);
			if (result)
				assert_fault(setup, first, row);
			else
				assert_int_equal(setup->message.kind, first->kind);
			good += result == 0;
			bad += result != 0;
		}
	}
	assert_true(good > 300 && bad > 1500);
}

static void test_missing_and_twice(void **state)
{
	struct setup *setup = *state;
	struct text none = {NULL, 0};

	FOR_EACH_FIELD(row, first)
	{
		assert_int_equal(decode_twisted(setup, first, row, TWIST_DROP, none),
				 row->need == REQUIRED);
		if (row->need == REQUIRED) {
			assert_fault(setup, first, row);
			assert_non_null(strstr(setup->fault.text, "is missing"));
		}
		assert_int_equal(decode_twisted(setup, first, row, TWIST_TWICE, none), 1);
		assert_fault(setup, first, row);
		assert_non_null(strstr(setup->fault.text, "occurs twice"));
	}
}

static int decode_number(struct setup *setup, const struct row *first, const struct row *row,
			 uint64_t number)
{
	struct packer *packer;
	struct text value;
	int result;

	assert_int_equal(packer_new(&packer), 0);
	if (row->type == TYPE_text)
		pack_text_of(packer, number);
	else
		pack_uint(packer, number);
	assert_int_equal(packer_bytes(packer, &value), 0);
	result = decode_twisted(setup, first, row, TWIST_REPLACE, value);
	packer_free(packer);
	return result;
}

/* Numbers and the lengths of texts. */
static void test_bounds(void **state)
{
	struct setup *setup = *state;
	size_t checked = 0;

	FOR_EACH_FIELD(row, first)
	{
		if (row->type != TYPE_uint && row->type != TYPE_text)
			continue;
		assert_int_equal(decode_number(setup, first, row, row->min), 0);
		assert_int_equal(decode_number(setup, first, row, row->max), 0);
		checked++;
		if (row->min > 0) {
			assert_int_equal(decode_number(setup, first, row, row->min - 1), 1);
			assert_fault(setup, first, row);
		}
		if (row->max < UINT64_MAX) {
			assert_int_equal(decode_number(setup, first, row, row->max + 1), 1);
			assert_fault(setup, first, row);
		}
	}
	assert_true(checked > 70);
}

static void assert_words(struct setup *setup, const char *key, const char *value, size_t size,
			 const char *words)
{
	FOR_EACH_FIELD(row, first)
	{
		if (first->kind != MESSAGE_ATTACH && first->kind != MESSAGE_BATCH &&
		    first->kind != MESSAGE_ATTACHED)
			continue;
		if (strcmp(row->key, key) != 0)
			continue;
		assert_int_equal(decode_twisted(setup, first, row, TWIST_REPLACE,
						(struct text){value, size}),
				 1);
		assert_string_equal(setup->fault.text, words);
		return;
	}
	fail_msg("no field %s", key);
}

static void test_words(void **state)
{
	struct setup *setup = *state;

	assert_words(setup, "batch_size", "\xa1x", 2,
		     "attach: batch_size must be a whole number from 1 to 1048576, not text");
	assert_words(setup, "batch_size", "\x00", 1,
		     "attach: batch_size must be a whole number from 1 to 1048576, not 0");
	assert_words(setup, "batch_size", "\xfb", 1,
		     "attach: batch_size must be a whole number from 1 to 1048576, not -5");
	assert_words(setup, "shuffle", "\x01", 1,
		     "attach: shuffle must be true or false, not whole number");
	assert_words(setup, "dtype", "\xb1xxxxxxxxxxxxxxxxx", 18,
		     "attach: dtype must be a text of at most 16 bytes, not 17 bytes");
	assert_words(setup, "pipeline_hash", "\xa0", 1,
		     "attached: pipeline_hash must be a text of 32 bytes, not 0 bytes");
	assert_words(setup, "transport", "\x90", 1,
		     "attached: transport must be a text of 2 to 16 bytes, not list");
	assert_words(
		setup, "runs", "\x90", 1,
		"batch: runs must be a list of 1 to 4 pairs [slot, count], not this list of 0");
}

static void test_defaults(void **state)
{
	struct message attach = message_init(MESSAGE_ATTACH);
	struct setup *setup = *state;
	uint8_t frame[64];

	assert_int_equal(attach.kind, MESSAGE_ATTACH);
	assert_int_equal(attach.attach.inflight, 3);
	assert_int_equal(attach.attach.world, 1);
	assert_int_equal(attach.attach.subset_stop, UINT64_MAX);
	assert_true(attach.attach.shuffle);
	assert_false(attach.attach.accept_fd);
	assert_int_equal(attach.attach.dtype.size, 0);
	assert_int_equal(value_kind(attach.attach.transforms.value), VALUE_NIL);
	/* Fields of one request do not leak into the next one, which leaves them out. */
	for (int round = 0; round < 2; round++) {
		static const uint8_t credit[] = "\x82\xa4type\x0d\xa8inflight\x05";
		long size;

		attach = message_init(MESSAGE_ATTACH);
		attach.attach.batch_size = 1;
		attach.attach.inflight = round ? 3 : 9;
		size = message_encode(&attach, frame, sizeof(frame));
		assert_true(size > FRAME_HEAD);
		assert_int_equal(message_decode(frame + FRAME_HEAD, (size_t)size - FRAME_HEAD,
						setup->memory, &setup->message, &setup->fault),
				 0);
		assert_int_equal(setup->message.attach.inflight, round ? 3 : 9);
		assert_int_equal(message_decode(credit, sizeof(credit) - 1, setup->memory,
						&setup->message, &setup->fault),
				 0);
		assert_int_equal(setup->message.credit.inflight, 5);
	}
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(message_name(MESSAGE_BAD_SAMPLE), "bad_sample");
	assert_null(message_name(0));
	assert_null(message_name(29));
	assert_int_equal(message_sender(MESSAGE_BATCH), MESSAGE_BY_DAEMON);
	assert_int_equal(message_sender(MESSAGE_RELEASE), MESSAGE_BY_CLIENT);
	assert_int_equal(message_socket(MESSAGE_HELLO), MESSAGE_ON_BOTH);
	assert_int_equal(message_socket(MESSAGE_BATCH), MESSAGE_ON_DATA);
	assert_int_equal(message_socket(MESSAGE_STOP), MESSAGE_ON_CONTROL);
	assert_string_equal(error_name(ERROR_STATE), "wrong_state");
	assert_string_equal(error_name(0), "unknown");
	assert_string_equal(error_name(12345), "unknown");
	assert_string_equal(counter_name(COUNTER_QUEUED), "queued");
	for (int counter = 0; counter < COUNTER_COUNT; counter++)
		assert_non_null(counter_name((enum counter)counter));
}

/* The largest frame can be encoded and decoded; one byte more, or too little room, fails. */
static void test_what_does_not_fit(void **state)
{
	static uint8_t frame[PROTO_FRAME_MAX + FRAME_HEAD];
	static char text[PROTO_FRAME_MAX];
	struct value value = TEXT_OF(text, PROTO_FRAME_MAX - 100);
	struct message report = message_init(MESSAGE_REPORT);
	struct setup *setup = *state;
	long size;

	report.report.values.value = &value;
	size = message_encode(&report, frame, sizeof(frame));
	assert_in_range(size, PROTO_FRAME_MAX - 100, sizeof(frame));
	assert_int_equal(message_encode(&report, frame, (size_t)size), size);
	assert_int_equal(message_encode(&report, frame, (size_t)size - 1), -EMSGSIZE);
	assert_int_equal(message_encode(&report, frame, 0), -EMSGSIZE);
	value.object.via.str.size += (uint32_t)(sizeof(frame) - (size_t)size);
	assert_int_equal(message_encode(&report, frame, sizeof(frame)), sizeof(frame));
	assert_int_equal(message_decode(frame + FRAME_HEAD, PROTO_FRAME_MAX, setup->memory,
					&setup->message, &setup->fault),
			 0);
	value.object.via.str.size += 1;
	assert_int_equal(message_encode(&report, frame, sizeof(frame)), -EMSGSIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(test_every_field_with_every_type),
		TEST(test_missing_and_twice),
		TEST(test_bounds),
		TEST(test_words),
		TEST(test_defaults),
		TEST(test_names),
		TEST(test_what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
