/* SPDX-License-Identifier: MIT */
/*
 * The codec against tests/golden/frames.json, whose bytes another implementation of msgpack made:
 * bytes to struct, struct to bytes, and what must be refused. FAULTS 38, 39, 41, 42.
 *
 * Two structs are made of every row, one from its bytes and one from its JSON; they must agree
 * field by field and both must encode to the row's bytes.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"
#include "proto/message.h"
#include "proto/pack.h"
#include "tests/unit/test.h"

#define FRAME_CAPACITY (PROTO_FRAME_MAX + FRAME_HEAD)

static const char *golden_path;
static json_t *golden;

/* What the JSON side of one row borrows from; freed row by row. */
struct holder {
	struct packer *packers[32];
	char *texts[32];
	size_t n_packers, n_texts;
};

static void holder_deinit(struct holder *holder)
{
	while (holder->n_packers > 0)
		packer_free(holder->packers[--holder->n_packers]);
	while (holder->n_texts > 0)
		free(holder->texts[--holder->n_texts]);
}

static size_t unhex(const char *hex, uint8_t *out, size_t capacity)
{
	size_t size = strlen(hex) / 2;

	assert_int_equal(strlen(hex) % 2, 0);
	assert_true(size <= capacity);
	for (size_t i = 0; i < size; i++) {
		char byte[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

		out[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return size;
}

static const char *string_at(const json_t *row, const char *key)
{
	const char *string = json_string_value(json_object_get(row, key));

	assert_non_null(string);
	return string;
}

/* From JSON to the value that it stands for, see README.md of the golden frames. */
static struct text text_of(const json_t *json, struct holder *holder)
{
	const char *hex = json_string_value(json_object_get(json, "hex"));
	char *bytes;

	if (!hex)
		return (struct text){json_string_value(json), json_string_length(json)};
	bytes = malloc(strlen(hex) / 2 + 1);
	assert_non_null(bytes);
	assert_true(holder->n_texts < 32);
	holder->texts[holder->n_texts++] = bytes;
	return (struct text){bytes, unhex(hex, (uint8_t *)bytes, strlen(hex) / 2)};
}

static uint64_t uint_of(const json_t *json)
{
	const char *digits = json_string_value(json_object_get(json, "uint"));

	return digits ? strtoull(digits, NULL, 10) : (uint64_t)json_integer_value(json);
}

static void pack_json(struct packer *packer, json_t *json, struct holder *holder)
{
	const char *key;
	json_t *item;
	size_t i;

	if (json_object_get(json, "uint")) {
		pack_uint(packer, uint_of(json));
	} else if (json_is_string(json) || json_object_get(json, "hex")) {
		pack_text(packer, text_of(json, holder));
	} else if (json_is_object(json)) {
		pack_map(packer, (uint32_t)json_object_size(json));
		json_object_foreach(json, key, item)
		{
			pack_string(packer, key);
			pack_json(packer, item, holder);
		}
	} else if (json_is_array(json)) {
		pack_list(packer, (uint32_t)json_array_size(json));
		json_array_foreach(json, i, item) pack_json(packer, item, holder);
	} else if (json_is_integer(json) && json_integer_value(json) < 0) {
		pack_int(packer, json_integer_value(json));
	} else if (json_is_integer(json)) {
		pack_uint(packer, (uint64_t)json_integer_value(json));
	} else if (json_is_real(json)) {
		pack_float(packer, json_real_value(json));
	} else if (json_is_boolean(json)) {
		pack_boolean(packer, json_boolean_value(json));
	} else {
		pack_nil(packer);
	}
}

static void fill_uint(message_uint *out, json_t *json, struct holder *holder)
{
	(void)holder;
	*out = uint_of(json);
}

static void fill_boolean(message_boolean *out, json_t *json, struct holder *holder)
{
	(void)holder;
	assert_true(json_is_boolean(json));
	*out = json_boolean_value(json);
}

static void fill_text(message_text *out, json_t *json, struct holder *holder)
{
	*out = text_of(json, holder);
}

static void fill_runs(message_runs *out, json_t *json, struct holder *holder)
{
	json_t *run;
	size_t i;

	(void)holder;
	assert_true(json_array_size(json) <= PROTO_RUNS_MAX);
	json_array_foreach(json, i, run)
	{
		out->run[i].slot = (uint32_t)json_integer_value(json_array_get(run, 0));
		out->run[i].count = (uint32_t)json_integer_value(json_array_get(run, 1));
	}
	out->n = (uint32_t)json_array_size(json);
}

static void fill_any(message_any *out, json_t *json, struct holder *holder)
{
	struct packer *packer;

	assert_int_equal(packer_new(&packer), 0);
	assert_true(holder->n_packers < 32);
	holder->packers[holder->n_packers++] = packer;
	pack_json(packer, json, holder);
	assert_int_equal(packer_bytes(packer, &out->packed), 0);
}

static void same_uint(const message_uint *a, const message_uint *b)
{
	assert_int_equal(*a, *b);
}

static void same_boolean(const message_boolean *a, const message_boolean *b)
{
	assert_int_equal(*a, *b);
}

static void same_text(const message_text *a, const message_text *b)
{
	assert_int_equal(a->size, b->size);
	if (a->size > 0)
		assert_memory_equal(a->data, b->data, a->size);
}

static void same_runs(const message_runs *a, const message_runs *b)
{
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->run, b->run, a->n * sizeof(*a->run));
}

/* `a` was decoded, `b` was packed or is nil. */
static void same_any(const message_any *a, const message_any *b)
{
	struct packer *packer;
	struct text packed;

	if (b->packed.size == 0) {
		assert_int_equal(value_kind(a->value), VALUE_NIL);
		return;
	}
	assert_int_equal(packer_new(&packer), 0);
	pack_value(packer, a->value);
	assert_int_equal(packer_bytes(packer, &packed), 0);
	same_text(&packed, &b->packed);
	packer_free(packer);
}

#define FILL(type, key, need, initial, min, max, help)                                             \
	json = json_object_get(fields, #key);                                                      \
	if (json)                                                                                  \
		fill_##type(&to->key, json, holder);                                               \
	known += json != NULL;

static struct message message_of_json(enum message_kind kind, json_t *fields, struct holder *holder)
{
	struct message message = message_init(kind);
	size_t known = 0;
	json_t *json;

	switch (kind) {
#define FILL_CASE(number, NAME, name, sender, socket, since)                                       \
	case MESSAGE_##NAME: {                                                                     \
		struct message_##name *to = &message.name;                                         \
		NAME##_FIELDS(FILL) break;                                                         \
	}
		MESSAGE_TABLE(FILL_CASE)
	}
	assert_int_equal(known, json_object_size(fields));
	return message;
}

#define SAME(type, key, need, initial, min, max, help) same_##type(&one->key, &other->key);

static void same_message(const struct message *a, const struct message *b)
{
	assert_int_equal(a->kind, b->kind);
	switch (a->kind) {
#define SAME_CASE(number, NAME, name, sender, socket, since)                                       \
	case MESSAGE_##NAME: {                                                                     \
		const struct message_##name *one = &a->name, *other = &b->name;                    \
		NAME##_FIELDS(SAME) break;                                                         \
	}
		MESSAGE_TABLE(SAME_CASE)
	}
}

static enum message_kind kind_of_name(const char *name)
{
#define NAME_IS(number, NAME, text, sender, socket, since)                                         \
	if (strcmp(name, #text) == 0)                                                              \
		return MESSAGE_##NAME;
	MESSAGE_TABLE(NAME_IS)
	fail_msg("no message is named %s", name);
	return 0;
}

static void assert_encodes_to(const struct message *message, const uint8_t *bytes, size_t size)
{
	static uint8_t encoded[FRAME_CAPACITY];

	assert_int_equal(message_encode(message, encoded, sizeof(encoded)), size);
	assert_memory_equal(encoded, bytes, size);
}

static void replay(json_t *row, struct decoder_memory *memory, bool canonical)
{
	static uint8_t bytes[FRAME_CAPACITY];
	struct message decoded, filled;
	struct message_fault fault = {0};
	struct holder holder = {0};
	size_t size = unhex(string_at(row, "hex"), bytes, sizeof(bytes));

	print_message("%s\n", string_at(row, "name"));
	if (message_decode(bytes + FRAME_HEAD, size - FRAME_HEAD, memory, &decoded, &fault))
		fail_msg("refused: %s", fault.text);
	filled = message_of_json(kind_of_name(string_at(row, "message")),
				 json_object_get(row, "fields"), &holder);
	same_message(&decoded, &filled);
	if (canonical) {
		assert_encodes_to(&decoded, bytes, size);
		assert_encodes_to(&filled, bytes, size);
	}
	holder_deinit(&holder);
}

static void replay_list(const char *list, bool canonical)
{
	struct decoder_memory *memory;
	json_t *row;
	size_t i;

	assert_int_equal(decoder_memory_new(&memory), 0);
	assert_true(json_array_size(json_object_get(golden, list)) > 10);
	json_array_foreach(json_object_get(golden, list), i, row) replay(row, memory, canonical);
	decoder_memory_free(memory);
}

static void test_frames_both_ways(void **state)
{
	(void)state;
	replay_list("frames", true);
}

static void test_accepted_though_not_canonical(void **state)
{
	(void)state;
	replay_list("accepted", false);
}

/* Every message must have a golden frame. */
static void test_every_message_is_there(void **state)
{
	(void)state;
#define COUNT_ROWS(number, NAME, name, sender, socket, since)                                      \
	{                                                                                          \
		size_t i, rows = 0;                                                                \
		json_t *row;                                                                       \
		json_array_foreach(json_object_get(golden, "frames"), i, row) rows +=              \
			strcmp(string_at(row, "message"), #name) == 0;                             \
		assert_true(rows >= 2);                                                            \
	}
	MESSAGE_TABLE(COUNT_ROWS)
}

static void test_bad_is_refused(void **state)
{
	static uint8_t bytes[FRAME_CAPACITY];
	struct decoder_memory *memory;
	json_t *row;
	size_t i;

	(void)state;
	assert_int_equal(decoder_memory_new(&memory), 0);
	json_array_foreach(json_object_get(golden, "bad"), i, row)
	{
		size_t size = unhex(string_at(row, "hex"), bytes, sizeof(bytes));
		struct message_fault fault = {0};
		struct message message;

		print_message("%s\n", string_at(row, "name"));
		assert_int_equal(message_decode(bytes + FRAME_HEAD, size - FRAME_HEAD, memory,
						&message, &fault),
				 1);
		assert_string_equal(error_name(fault.code), string_at(row, "error"));
		assert_int_equal(fault.seq, json_integer_value(json_object_get(row, "seq")));
		assert_true(strlen(fault.text) > 0);
	}
	assert_true(i > 50);
	decoder_memory_free(memory);
}

/* FAULTS 41 */
static void test_lengths(void **state)
{
	json_t *row;
	size_t i;

	(void)state;
	json_array_foreach(json_object_get(golden, "lengths"), i, row)
	{
		struct frame_reader reader = FRAME_READER_NULL;
		const uint8_t *payload;
		uint8_t *at;
		size_t room, size;
		bool good = json_boolean_value(json_object_get(row, "good"));

		assert_int_equal(frame_reader_room(&reader, &at, &room), 0);
		assert_int_equal(room, FRAME_HEAD);
		frame_reader_received(&reader, unhex(string_at(row, "hex"), at, room));
		assert_int_equal(frame_reader_next(&reader, &payload, &size),
				 good ? 0 : FRAME_E_LENGTH);
		assert_null(payload);
		frame_reader_deinit(&reader);
	}
	assert_true(i >= 8);
}

static int load(void **state)
{
	json_error_t error;

	(void)state;
	golden = json_load_file(golden_path, JSON_REJECT_DUPLICATES, &error);
	if (!golden)
		print_error("%s:%d: %s\n", golden_path, error.line, error.text);
	return golden ? 0 : -1;
}

static int unload(void **state)
{
	(void)state;
	json_decref(golden);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_both_ways),
		cmocka_unit_test(test_accepted_though_not_canonical),
		cmocka_unit_test(test_every_message_is_there),
		cmocka_unit_test(test_bad_is_refused),
		cmocka_unit_test(test_lengths),
	};

	if (argc != 2) {
		print_error("usage: %s frames.json\n", argv[0]);
		return 2;
	}
	golden_path = argv[1];
	return cmocka_run_group_tests(tests, load, unload);
}
