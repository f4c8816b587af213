// SPDX-License-Identifier: MIT
#include "dataset/shards/example.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define VARINT_MAX 10 /* bytes */

enum wire { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

/* A field of a message: a number, or a part of the bytes. */
struct field {
	uint64_t number;
	enum wire wire;
	uint64_t value;	      /* of WIRE_VARINT */
	uint64_t offset, end; /* of the others */
};

static int example_bad(const char *what, uint64_t at, struct fault *fault)
{
	return fault_say(fault, EXAMPLE_E_BAD,
			 "it is no tf.Example: %s (byte %" PRIu64
			 "): check how the shard was written",
			 what, at);
}

static int example_varint(struct example *example, uint64_t *at, uint64_t end, uint64_t *out,
			  struct fault *fault)
{
	const uint8_t *data = NULL;
	size_t room = end - *at < VARINT_MAX ? (size_t)(end - *at) : VARINT_MAX;
	uint64_t value = 0;
	int result = room ? example->fetch(example->context, *at, room, &data, fault) : 0;
	if (result)
		return result;
	for (size_t i = 0; i < room; i++) {
		value |= (uint64_t)(data[i] & 0x7F) << 7 * i;
		if (data[i] & 0x80)
			continue;
		*at += i + 1;
		*out = value;
		return 0;
	}
	return example_bad("a number is cut", *at, fault);
}

/* The next field of the message that ends at `end`; *at < end. */
static int example_field(struct example *example, uint64_t *at, uint64_t end, struct field *out,
			 struct fault *fault)
{
	uint64_t tag = 0, size = 0, begin = *at;
	int result = example_varint(example, at, end, &tag, fault);
	if (result)
		return result;
	struct field field = {.number = tag >> 3, .wire = (enum wire)(tag & 7)};
	switch (field.wire) {
	case WIRE_VARINT:
		result = example_varint(example, at, end, &field.value, fault);
		break;
	case WIRE_64:
		size = 8;
		break;
	case WIRE_32:
		size = 4;
		break;
	case WIRE_BYTES:
		result = example_varint(example, at, end, &size, fault);
		break;
	default:
		return example_bad("a field of an unknown type", begin, fault);
	}
	if (result)
		return result;
	if (field.number == 0)
		return example_bad("a field without a number", begin, fault);
	if (size > end - *at)
		return example_bad("a field reaches beyond the end", begin, fault);
	field.offset = *at;
	field.end = *at += size;
	*out = field;
	return 0;
}

void example_begin(struct example *example, example_fetch *fetch, void *context, uint64_t offset,
		   uint64_t size)
{
	*example = (struct example){
		.fetch = fetch, .context = context, .at = offset, .end = offset + size};
}

static int example_take_name(struct example *example, const struct field *field,
			     struct example_feature *feature, struct fault *fault)
{
	const uint8_t *data = NULL;
	uint64_t size = field->end - field->offset;
	feature->name_size = size < EXAMPLE_NAME_MAX ? (size_t)size : EXAMPLE_NAME_MAX;
	int result = size ? example->fetch(example->context, field->offset, feature->name_size,
					   &data, fault)
			  : 0;
	if (result)
		return result;
	if (size)
		memcpy(feature->name, data, feature->name_size);
	feature->name[feature->name_size] = '\0';
	return 0;
}

/* The list within a Feature: of several the last counts. */
static int example_take_value(struct example *example, const struct field *value,
			      struct example_feature *feature, struct fault *fault)
{
	for (uint64_t at = value->offset; at < value->end;) {
		struct field field = {0};
		int result = example_field(example, &at, value->end, &field, fault);
		if (result)
			return result;
		if (field.wire != WIRE_BYTES || field.number > EXAMPLE_INTS)
			continue;
		feature->kind = (enum example_kind)field.number;
		feature->offset = field.offset;
		feature->end = field.end;
	}
	return 0;
}

/* An entry of the map: 1 is the key, 2 the value. */
static int example_take_entry(struct example *example, const struct field *entry,
			      struct example_feature *feature, struct fault *fault)
{
	int result = 0;
	*feature = (struct example_feature){0};
	for (uint64_t at = entry->offset; at < entry->end && !result;) {
		struct field field = {0};
		result = example_field(example, &at, entry->end, &field, fault);
		if (result || field.wire != WIRE_BYTES)
			continue;
		if (field.number == 1)
			result = example_take_name(example, &field, feature, fault);
		else if (field.number == 2)
			result = example_take_value(example, &field, feature, fault);
	}
	return result;
}

int example_next(struct example *example, struct example_feature *out, struct fault *fault)
{
	struct field field = {0};
	for (;;) {
		bool within = example->features_at < example->features_end;
		if (!within && example->at == example->end)
			return EXAMPLE_DONE;
		int result =
			within ? example_field(example, &example->features_at,
					       example->features_end, &field, fault)
			       : example_field(example, &example->at, example->end, &field, fault);
		if (result)
			return result;
		if (field.wire != WIRE_BYTES || field.number != 1)
			continue;
		if (within)
			return example_take_entry(example, &field, out, fault);
		example->features_at = field.offset;
		example->features_end = field.end;
	}
}

int example_bytes(struct example *example, const struct example_feature *feature,
		  uint64_t *offset_out, uint64_t *size_out, struct fault *fault)
{
	uint64_t offset = 0, size = 0;
	unsigned count = 0;
	for (uint64_t at = feature->offset; at < feature->end;) {
		struct field field = {0};
		int result = example_field(example, &at, feature->end, &field, fault);
		if (result)
			return result;
		if (field.wire != WIRE_BYTES || field.number != 1)
			continue;
		offset = field.offset;
		size = field.end - field.offset;
		count++;
	}
	if (count != 1)
		return EXAMPLE_E_COUNT;
	*offset_out = offset;
	*size_out = size;
	return 0;
}

static int example_float(struct example *example, uint64_t at, struct label *out,
			 struct fault *fault)
{
	const uint8_t *data = NULL;
	int result = example->fetch(example->context, at, 4, &data, fault);
	if (result)
		return result;
	uint32_t bits = data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
			(uint32_t)data[3] << 24;
	out->real = true;
	memcpy(&out->number, &bits, sizeof(bits));
	return isfinite(out->number)
		       ? 0
		       : fault_say(fault, EXAMPLE_E_BAD,
				   "a number is not finite: write the record without it");
}

/* The number at *at of a packed list, which ends at `end`. */
static int example_packed(struct example *example, enum example_kind kind, uint64_t *at,
			  uint64_t end, struct label *out, struct fault *fault)
{
	uint64_t value = 0;
	int result;
	*out = (struct label){0};
	if (kind == EXAMPLE_FLOATS) {
		if (end - *at < 4)
			return example_bad("a number is cut", *at, fault);
		result = example_float(example, *at, out, fault);
		*at += 4;
		return result;
	}
	result = example_varint(example, at, end, &value, fault);
	out->whole = (int64_t)value;
	return result;
}

int example_numbers(struct example *example, const struct example_feature *feature,
		    struct label *out, uint32_t room, uint32_t *count_out, struct fault *fault)
{
	enum wire single = feature->kind == EXAMPLE_FLOATS ? WIRE_32 : WIRE_VARINT;
	uint32_t count = 0;
	for (uint64_t at = feature->offset; at < feature->end;) {
		struct field field = {0};
		int result = example_field(example, &at, feature->end, &field, fault);
		if (result)
			return result;
		if (field.number != 1 || (field.wire != WIRE_BYTES && field.wire != single))
			continue;
		if (field.wire == WIRE_VARINT) {
			if (count == room)
				return EXAMPLE_E_COUNT;
			out[count++] = (struct label){.whole = (int64_t)field.value};
			continue;
		}
		for (uint64_t from = field.offset; from < field.end;) {
			if (count == room)
				return EXAMPLE_E_COUNT;
			result = example_packed(example, feature->kind, &from, field.end,
						&out[count++], fault);
			if (result)
				return result;
		}
	}
	*count_out = count;
	return count ? 0 : EXAMPLE_E_COUNT;
}
