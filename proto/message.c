/* SPDX-License-Identifier: MIT */
/*
 * The codec, derived from proto/tables.h: a row per message, a row per field with type, offset in
 * the struct, default and range. No message has code of its own here. Pure; any thread. It does not
 * know which message is allowed in which state: that is the dispatcher's task.
 */
#include "proto/message.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"
#include "proto/pack.h"

enum field_type {
	FIELD_uint,
	FIELD_boolean,
	FIELD_text,
	FIELD_runs,
	FIELD_any,
};

enum field_need {
	OPTIONAL,
	REQUIRED,
	UNLIKE, /* required, unless `like` names a stream that has it */
};

struct field {
	const char *key;
	enum field_type type;
	enum field_need need;
	uint64_t initial, min, max;
	size_t offset; /* in the message's struct */
};

struct layout {
	const char *name;
	enum message_sender sender;
	enum message_socket socket;
	const struct field *fields;
	size_t n_fields;
};

#define FIELD_ROW(type, key, need, initial, min, max, help)                                        \
	{#key, FIELD_##type, need, initial, min, max, offsetof(__typeof__(self), key)},

/* `self` is only there for its type: the rows of a message do not know its name. */
#define LAYOUT_CASE(number, NAME, name, sender, socket, since)                                     \
	case MESSAGE_##NAME: {                                                                     \
		struct message_##name self;                                                        \
		static const struct field fields[] = {NAME##_FIELDS(FIELD_ROW)};                   \
		static const struct layout layout = {#name, MESSAGE_BY_##sender,                   \
						     MESSAGE_ON_##socket, fields,                  \
						     sizeof(fields) / sizeof(*fields)};            \
		(void)sizeof(self);                                                                \
		return &layout;                                                                    \
	}

static const struct layout *layout_of(uint64_t kind)
{
	switch (kind) {
		MESSAGE_TABLE(LAYOUT_CASE)
	default:
		return NULL;
	}
}

const char *message_name(enum message_kind kind)
{
	const struct layout *layout = layout_of(kind);

	return layout ? layout->name : NULL;
}

enum message_sender message_sender(enum message_kind kind)
{
	return layout_of(kind)->sender;
}

enum message_socket message_socket(enum message_kind kind)
{
	return layout_of(kind)->socket;
}

static const char *const error_words[64][2] = {
#define ERROR_WORDS(number, NAME, name, help, remedy) [number] = {#name, remedy},
	ERROR_TABLE(ERROR_WORDS)};

const char *error_name(unsigned code)
{
	return code < 64 && error_words[code][0] ? error_words[code][0] : "unknown";
}

const char *error_remedy(unsigned code)
{
	return code < 64 && error_words[code][1] ? error_words[code][1] : "";
}

const char *counter_name(enum counter counter)
{
	static const char *const names[] = {
#define COUNTER_NAME(NAME, name, kind, unit, help) #name,
		COUNTER_TABLE(COUNTER_NAME)};

	return names[counter];
}

/* Every message's struct begins where the union does. */
static void *body_of(struct message *message)
{
	return &message->hello;
}

static const void *field_of(const struct message *message, const struct field *field)
{
	return (const char *)&message->hello + field->offset;
}

uint64_t message_seq(const struct message *message)
{
	const struct layout *layout = layout_of(message->kind);
	if (layout->n_fields == 0 || strcmp(layout->fields[0].key, "seq") != 0)
		return 0;
	return *(const message_uint *)field_of(message, &layout->fields[0]);
}

static void field_reset(void *body, const struct field *field)
{
	void *at = (char *)body + field->offset;

	switch (field->type) {
	case FIELD_uint:
		*(message_uint *)at = field->initial;
		break;
	case FIELD_boolean:
		*(message_boolean *)at = field->initial;
		break;
	case FIELD_text:
	case FIELD_runs:
	case FIELD_any: /* zeroed: empty, none, nil */
		break;
	}
}

struct message message_init(enum message_kind kind)
{
	const struct layout *layout = layout_of(kind);
	struct message message;

	memset(&message, 0, sizeof(message));
	message.kind = kind;
	for (size_t i = 0; layout && i < layout->n_fields; i++)
		field_reset(body_of(&message), &layout->fields[i]);
	return message;
}

struct decoder_memory {
	struct unpacker *unpacker;
};

int decoder_memory_new(struct decoder_memory **out)
{
	struct decoder_memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return -ENOMEM;
	if (unpacker_new(&memory->unpacker)) {
		free(memory);
		return -ENOMEM;
	}
	*out = memory;
	return 0;
}

void decoder_memory_free(struct decoder_memory *memory)
{
	if (!memory)
		return;
	unpacker_free(memory->unpacker);
	free(memory);
}

__attribute__((format(printf, 3, 4))) static int fault_is(struct message_fault *fault,
							  unsigned code, const char *format, ...)
{
	va_list arguments;

	fault->code = code;
	va_start(arguments, format);
	vsnprintf(fault->text, sizeof(fault->text), format, arguments);
	va_end(arguments);
	return 1;
}

/* "a whole number from 1 to 8" */
static void say_expected(const struct field *field, char *out, size_t size)
{
	switch (field->type) {
	case FIELD_uint:
		snprintf(out, size, "a whole number from %" PRIu64 " to %" PRIu64, field->min,
			 field->max);
		break;
	case FIELD_boolean:
		snprintf(out, size, "true or false");
		break;
	case FIELD_text:
		if (field->min == field->max)
			snprintf(out, size, "a text of %" PRIu64 " bytes", field->max);
		else if (field->min == 0)
			snprintf(out, size, "a text of at most %" PRIu64 " bytes", field->max);
		else
			snprintf(out, size, "a text of %" PRIu64 " to %" PRIu64 " bytes",
				 field->min, field->max);
		break;
	case FIELD_runs:
		snprintf(out, size, "a list of %" PRIu64 " to %" PRIu64 " pairs [slot, count]",
			 field->min, field->max);
		break;
	case FIELD_any:
		snprintf(out, size, "a value");
		break;
	}
}

/* Say what came instead: its kind, or what of it is out of range. */
static void say_found(const struct field *field, const struct value *value, char *out, size_t size)
{
	if (field->type == FIELD_uint && value_kind(value) == VALUE_UINT)
		snprintf(out, size, "%" PRIu64, value_uint(value));
	else if (field->type == FIELD_uint && value_kind(value) == VALUE_INT)
		snprintf(out, size, "%" PRId64, value_sint(value));
	else if (field->type == FIELD_text && value_kind(value) == VALUE_TEXT)
		snprintf(out, size, "%zu bytes", value_text(value).size);
	else if (field->type == FIELD_runs && value_kind(value) == VALUE_LIST)
		snprintf(out, size, "this list of %" PRIu32, value_count(value));
	else
		snprintf(out, size, "%s", value_kind_name(value_kind(value)));
}

static bool runs_decode(const struct value *value, const struct field *field, struct runs *out)
{
	if (value_count(value) < field->min || value_count(value) > field->max)
		return false;
	for (uint32_t i = 0; i < value_count(value); i++) {
		const struct value *pair = value_item(value, i);
		const struct value *slot = value_item(pair, 0), *count = value_item(pair, 1);

		if (value_count(pair) != 2 || value_kind(slot) != VALUE_UINT ||
		    value_kind(count) != VALUE_UINT)
			return false;
		if (value_uint(slot) > UINT32_MAX || value_uint(count) > UINT32_MAX ||
		    value_uint(count) == 0)
			return false;
		out->run[i] = (struct run){(uint32_t)value_uint(slot), (uint32_t)value_uint(count)};
	}
	out->n = value_count(value);
	return true;
}

static bool field_decode(const struct value *value, const struct field *field, void *body)
{
	void *at = (char *)body + field->offset;

	switch (field->type) {
	case FIELD_uint:
		if (value_kind(value) != VALUE_UINT || value_uint(value) < field->min ||
		    value_uint(value) > field->max)
			return false;
		*(message_uint *)at = value_uint(value);
		return true;
	case FIELD_boolean:
		if (value_kind(value) != VALUE_BOOLEAN)
			return false;
		*(message_boolean *)at = value_boolean(value);
		return true;
	case FIELD_text:
		if (value_kind(value) != VALUE_TEXT || value_text(value).size < field->min ||
		    value_text(value).size > field->max)
			return false;
		*(message_text *)at = value_text(value);
		return true;
	case FIELD_runs:
		return value_kind(value) == VALUE_LIST && runs_decode(value, field, at);
	case FIELD_any:
		((message_any *)at)->value = value;
		return true;
	}
	return false;
}

/* May the field be absent? */
static bool field_may_lack(const struct field *field, const struct value *map)
{
	const struct value *like = field->need == UNLIKE ? value_get(map, "like") : NULL;

	return field->need == OPTIONAL || value_uint(like) > 0;
}

static int fields_decode(const struct value *map, const struct layout *layout, struct message *out,
			 struct message_fault *fault)
{
	for (size_t i = 0; i < layout->n_fields; i++) {
		const struct field *field = &layout->fields[i];
		const struct value *value = value_get(map, field->key);
		char expected[80], found[40];

		if (!value && field_may_lack(field, map))
			continue;
		if (!value)
			return fault_is(fault, ERROR_FIELD, "%s: %s is missing", layout->name,
					field->key);
		out->said |= (uint64_t)1 << i;
		if (field_decode(value, field, body_of(out)))
			continue;
		say_expected(field, expected, sizeof(expected));
		say_found(field, value, found, sizeof(found));
		return fault_is(fault, ERROR_FIELD, "%s: %s must be %s, not %s", layout->name,
				field->key, expected, found);
	}
	return 0;
}

static uint32_t seq_of(const struct value *map)
{
	const struct value *seq = value_get(map, "seq");

	return value_uint(seq) <= UINT32_MAX ? (uint32_t)value_uint(seq) : 0;
}

/* The message's row by its number, or NULL with `fault` filled in. */
static const struct layout *layout_decode(const struct value *map, uint64_t *kind_out,
					  struct message_fault *fault)
{
	const struct value *type = value_get(map, "type");
	const struct layout *layout;

	if (value_kind(type) != VALUE_UINT) {
		fault_is(fault, ERROR_FIELD, "type must be the number of a message, and it is %s",
			 type ? value_kind_name(value_kind(type)) : "missing");
		return NULL;
	}
	layout = layout_of(value_uint(type));
	if (!layout) {
		fault_is(fault, ERROR_MESSAGE, "no message has the number %" PRIu64,
			 value_uint(type));
		return NULL;
	}
	*kind_out = value_uint(type);
	return layout;
}

int message_decode(const uint8_t *bytes, size_t size, struct decoder_memory *memory,
		   struct message *out, struct message_fault *fault)
{
	const struct layout *layout;
	struct message message;
	const struct value *map;
	const char *why;
	uint64_t kind;
	int result = unpack(memory->unpacker, bytes, size, &map, &why);

	if (result < 0)
		return result;
	fault->seq = 0;
	if (result == UNPACK_E_STRUCTURE)
		return fault_is(fault, ERROR_STRUCTURE, "%s", why);
	if (value_kind(map) != VALUE_MAP)
		return fault_is(fault, ERROR_STRUCTURE, "a frame holds a map, not a %s",
				value_kind_name(value_kind(map)));
	fault->seq = seq_of(map);
	layout = layout_decode(map, &kind, fault);
	if (!layout)
		return 1;
	if (result == UNPACK_E_VALUE)
		return fault_is(fault, ERROR_FIELD, "%s: %s", layout->name, why);
	message = message_init((enum message_kind)kind);
	if (fields_decode(map, layout, &message, fault))
		return 1;
	*out = message;
	return 0;
}

static bool any_is_nil(const struct any *any)
{
	return any->packed.size == 0 && value_kind(any->value) == VALUE_NIL;
}

static bool field_is_said(const struct message *message, const struct field *field)
{
	const void *at = field_of(message, field);

	if (field->need == REQUIRED || (field->need == UNLIKE && !message->attach.like))
		return true;
	switch (field->type) {
	case FIELD_uint:
		return *(const message_uint *)at != field->initial;
	case FIELD_boolean:
		return *(const message_boolean *)at != (bool)field->initial;
	case FIELD_text:
		return ((const message_text *)at)->size > 0;
	case FIELD_runs:
		return ((const message_runs *)at)->n > 0;
	case FIELD_any:
		return !any_is_nil(at);
	}
	return false;
}

static void pack_runs(struct packer *packer, const struct runs *runs)
{
	assert(runs->n <= PROTO_RUNS_MAX);
	pack_list(packer, runs->n);
	for (uint32_t i = 0; i < runs->n; i++) {
		pack_list(packer, 2);
		pack_uint(packer, runs->run[i].slot);
		pack_uint(packer, runs->run[i].count);
	}
}

static void pack_any(struct packer *packer, const struct any *any)
{
	if (any->packed.size > 0)
		pack_packed(packer, any->packed);
	else
		pack_value(packer, any->value);
}

static void field_encode(struct packer *packer, const struct message *message,
			 const struct field *field)
{
	const void *at = field_of(message, field);

	pack_string(packer, field->key);
	switch (field->type) {
	case FIELD_uint:
		pack_uint(packer, *(const message_uint *)at);
		break;
	case FIELD_boolean:
		pack_boolean(packer, *(const message_boolean *)at);
		break;
	case FIELD_text:
		pack_text(packer, *(const message_text *)at);
		break;
	case FIELD_runs:
		pack_runs(packer, at);
		break;
	case FIELD_any:
		pack_any(packer, at);
		break;
	}
}

static void payload_encode(struct packer *packer, const struct message *message,
			   const struct layout *layout)
{
	uint32_t keys = 1;

	for (size_t i = 0; i < layout->n_fields; i++)
		keys += field_is_said(message, &layout->fields[i]);
	pack_map(packer, keys);
	pack_string(packer, "type");
	pack_uint(packer, message->kind);
	for (size_t i = 0; i < layout->n_fields; i++)
		if (field_is_said(message, &layout->fields[i]))
			field_encode(packer, message, &layout->fields[i]);
}

long message_encode(const struct message *message, uint8_t *out, size_t capacity)
{
	const struct layout *layout = layout_of(message->kind);
	struct packer packer;
	struct text payload;
	size_t room;
	int result;

	assert(layout);
	if (capacity < FRAME_HEAD)
		return -EMSGSIZE;
	room = capacity - FRAME_HEAD;
	packer = packer_over(out + FRAME_HEAD, room < PROTO_FRAME_MAX ? room : PROTO_FRAME_MAX);
	payload_encode(&packer, message, layout);
	result = packer_bytes(&packer, &payload);
	if (result)
		return result;
	for (int i = 0; i < FRAME_HEAD; i++)
		out[i] = (uint8_t)(payload.size >> (8 * (FRAME_HEAD - 1 - i)));
	return (long)payload.size + FRAME_HEAD;
}
