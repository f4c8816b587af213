/* SPDX-License-Identifier: MIT */
/*
 * msgpack-c allocates what the counts claim, and a peer can claim gigabytes with five bytes. So the
 * bytes are checked first (proto/check.h). After that every count is bounded and backed by bytes.
 */
#include "proto/pack.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/check.h"
#include "proto/tables.h"

int packer_new(struct packer **out)
{
	struct packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return -ENOMEM;
	*out = packer;
	return 0;
}

void packer_free(struct packer *packer)
{
	if (!packer)
		return;
	free(packer->data);
	free(packer);
}

struct packer packer_over(uint8_t *bytes, size_t size)
{
	return (struct packer){.data = (char *)bytes, .capacity = size, .fixed = true};
}

void packer_clear(struct packer *packer)
{
	packer->size = 0;
	packer->error = 0;
}

int packer_bytes(const struct packer *packer, struct text *out)
{
	if (packer->error)
		return packer->error;
	*out = (struct text){packer->data, packer->size};
	return 0;
}

static int packer_grow(struct packer *packer, size_t size)
{
	size_t capacity = packer->capacity ? packer->capacity : 256;
	char *data;

	if (packer->fixed)
		return -EMSGSIZE;
	while (capacity - packer->size < size) {
		if (capacity > SIZE_MAX / 2)
			return -ENOMEM;
		capacity *= 2;
	}
	data = realloc(packer->data, capacity);
	if (!data)
		return -ENOMEM;
	packer->data = data;
	packer->capacity = capacity;
	return 0;
}

/* The write function of msgpack-c's packer: 0, or -1 with the error kept. */
static int packer_write(void *data, const char *bytes, size_t size)
{
	struct packer *packer = data;

	if (packer->error)
		return -1;
	if (size == 0)
		return 0;
	if (packer->capacity - packer->size < size) {
		packer->error = packer_grow(packer, size);
		if (packer->error)
			return -1;
	}
	memcpy(packer->data + packer->size, bytes, size);
	packer->size += size;
	return 0;
}

static msgpack_packer packer_door(struct packer *packer)
{
	msgpack_packer door;

	msgpack_packer_init(&door, packer, packer_write);
	return door;
}

/* Their results are ignored: packer_write() has kept the error in packer->error. */
void pack_nil(struct packer *packer)
{
	msgpack_packer door = packer_door(packer);

	(void)msgpack_pack_nil(&door);
}

void pack_boolean(struct packer *packer, bool boolean)
{
	msgpack_packer door = packer_door(packer);

	(void)(boolean ? msgpack_pack_true(&door) : msgpack_pack_false(&door));
}

void pack_uint(struct packer *packer, uint64_t uint)
{
	msgpack_packer door = packer_door(packer);

	(void)msgpack_pack_uint64(&door, uint);
}

void pack_int(struct packer *packer, int64_t sint)
{
	msgpack_packer door = packer_door(packer);

	(void)msgpack_pack_int64(&door, sint);
}

void pack_float(struct packer *packer, double number)
{
	msgpack_packer door = packer_door(packer);

	(void)msgpack_pack_double(&door, number);
}

void pack_text(struct packer *packer, struct text text)
{
	msgpack_packer door = packer_door(packer);

	if (text.size > UINT32_MAX) {
		packer->error = -EMSGSIZE;
		return;
	}
	(void)msgpack_pack_str(&door, text.size);
	(void)msgpack_pack_str_body(&door, text.data, text.size);
}

void pack_string(struct packer *packer, const char *string)
{
	pack_text(packer, (struct text){string, strlen(string)});
}

void pack_list(struct packer *packer, uint32_t count)
{
	msgpack_packer door = packer_door(packer);

	(void)msgpack_pack_array(&door, count);
}

void pack_map(struct packer *packer, uint32_t count)
{
	msgpack_packer door = packer_door(packer);

	(void)msgpack_pack_map(&door, count);
}

size_t pack_map_begin(const struct packer *packer)
{
	return packer->size;
}

/* The head is packed behind the entries, where its size is found out, then moved before them. */
void pack_map_end(struct packer *packer, size_t begin)
{
	size_t end = packer->size, head_size;
	uint32_t values = 0;
	char head[5], *entries;

	if (packer->error)
		return;
	if (end > begin &&
	    bytes_count((const uint8_t *)packer->data + begin, end - begin, &values)) {
		packer->error = -EMSGSIZE;
		return;
	}
	assert(values % 2 == 0); /* a key has its value */
	pack_map(packer, values / 2);
	if (packer->error)
		return;
	entries = packer->data + begin;
	head_size = packer->size - end;
	memcpy(head, packer->data + end, head_size);
	memmove(entries + head_size, entries, end - begin);
	memcpy(entries, head, head_size);
}

void pack_key_uint(struct packer *packer, const char *key, uint64_t uint)
{
	pack_string(packer, key);
	pack_uint(packer, uint);
}

void pack_key_string(struct packer *packer, const char *key, const char *string)
{
	pack_string(packer, key);
	pack_string(packer, string);
}

void pack_packed(struct packer *packer, struct text packed)
{
	(void)packer_write(packer, packed.data, packed.size);
}

void pack_packer(struct packer *packer, const struct packer *other)
{
	if (other->error && !packer->error)
		packer->error = other->error;
	(void)packer_write(packer, other->data, other->size);
}

static void pack_items(struct packer *packer, const struct value *list)
{
	pack_list(packer, value_count(list));
	for (uint32_t i = 0; i < value_count(list); i++)
		pack_value(packer, value_item(list, i));
}

static void pack_pairs(struct packer *packer, const struct value *map)
{
	pack_map(packer, value_count(map));
	for (uint32_t i = 0; i < value_count(map); i++) {
		pack_text(packer, value_key(map, i));
		pack_value(packer, value_at(map, i));
	}
}

void pack_value(struct packer *packer, const struct value *value)
{
	switch (value_kind(value)) {
	case VALUE_NIL:
		pack_nil(packer);
		break;
	case VALUE_BOOLEAN:
		pack_boolean(packer, value_boolean(value));
		break;
	case VALUE_UINT:
		pack_uint(packer, value_uint(value));
		break;
	case VALUE_INT:
		pack_int(packer, value_sint(value));
		break;
	case VALUE_FLOAT:
		pack_float(packer, value_float(value));
		break;
	case VALUE_TEXT:
		pack_text(packer, value_text(value));
		break;
	case VALUE_LIST:
		pack_items(packer, value);
		break;
	case VALUE_MAP:
		pack_pairs(packer, value);
		break;
	}
}

const char *pack_check(const uint8_t *bytes, size_t size)
{
	uint32_t nodes;

	return bytes_check(bytes, size, &nodes);
}

struct unpacker {
	msgpack_zone zone;
	msgpack_object object;
	const msgpack_object *sorted[PROTO_NODES_MAX / 2]; /* keys: scratch of find_twins() */
	bool wrong;
	char why[160];
};

int unpacker_new(struct unpacker **out)
{
	struct unpacker *unpacker = calloc(1, sizeof(*unpacker));

	if (!unpacker)
		return -ENOMEM;
	if (!msgpack_zone_init(&unpacker->zone, MSGPACK_ZONE_CHUNK_SIZE)) {
		free(unpacker);
		return -ENOMEM;
	}
	*out = unpacker;
	return 0;
}

void unpacker_free(struct unpacker *unpacker)
{
	if (!unpacker)
		return;
	msgpack_zone_destroy(&unpacker->zone);
	free(unpacker);
}

/* Keep the first fault that is found, with the key as printable text. */
static void say_wrong(struct unpacker *unpacker, const char *what, struct text key)
{
	char shown[49];
	size_t size = key.size < sizeof(shown) ? key.size : sizeof(shown) - 1;

	if (unpacker->wrong)
		return;
	for (size_t i = 0; i < size; i++)
		shown[i] = key.data[i] >= ' ' && key.data[i] <= '~' ? key.data[i] : '?';
	shown[size] = '\0';
	snprintf(unpacker->why, sizeof(unpacker->why), "%s%s%s", shown, size ? " " : "", what);
	unpacker->wrong = true;
}

/* Text of a key; "" if it is no text. As value_text(), without the call. */
static struct text text_of(const msgpack_object *key)
{
	if (key->type == MSGPACK_OBJECT_STR)
		return (struct text){key->via.str.ptr, key->via.str.size};
	if (key->type == MSGPACK_OBJECT_BIN)
		return (struct text){key->via.bin.ptr, key->via.bin.size};
	return (struct text){"", 0};
}

static int key_compare(const void *left, const void *right)
{
	struct text a = text_of(*(const msgpack_object *const *)left);
	struct text b = text_of(*(const msgpack_object *const *)right);

	if (a.size != b.size)
		return a.size < b.size ? -1 : 1;
	return a.size ? memcmp(a.data, b.data, a.size) : 0;
}

/* Find keys that occur twice, in O(n log n): a map may have thousands. Few are compared faster with
 * each other than sorted. */
static void find_twins(struct unpacker *unpacker, const msgpack_object_map *map)
{
	const msgpack_object **sorted = unpacker->sorted;
	bool few = map->size <= 16;

	for (uint32_t i = 0; i < map->size; i++)
		sorted[i] = &map->ptr[i].key;
	if (!few)
		qsort(sorted, map->size, sizeof(*sorted), key_compare);
	for (uint32_t i = 1; i < map->size; i++)
		for (uint32_t k = few ? 0 : i - 1; k < i; k++)
			if (key_compare(&sorted[k], &sorted[i]) == 0)
				say_wrong(unpacker, "occurs twice", text_of(sorted[i]));
}

static void check(struct unpacker *unpacker, const msgpack_object *object, struct text key);

static void check_map(struct unpacker *unpacker, const msgpack_object_map *map)
{
	for (uint32_t i = 0; i < map->size; i++) {
		const msgpack_object *key = &map->ptr[i].key;

		if (key->type != MSGPACK_OBJECT_STR && key->type != MSGPACK_OBJECT_BIN)
			say_wrong(unpacker, "a map has a key that is not a text",
				  (struct text){"", 0});
		check(unpacker, &map->ptr[i].val, text_of(key));
	}
	find_twins(unpacker, map);
}

/* Check that it is a value of the protocol. `key` is that of the value, or of the list around it:
 * for the message. */
static void check(struct unpacker *unpacker, const msgpack_object *object, struct text key)
{
	const msgpack_object_union *via = &object->via;

	switch (object->type) {
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		if (!isfinite(via->f64))
			say_wrong(unpacker, "must be a finite number", key);
		break;
	case MSGPACK_OBJECT_ARRAY:
		for (uint32_t i = 0; i < via->array.size; i++)
			check(unpacker, &via->array.ptr[i], key);
		break;
	case MSGPACK_OBJECT_MAP:
		check_map(unpacker, &via->map);
		break;
	default:
		break;
	}
}

int unpack(struct unpacker *unpacker, const uint8_t *bytes, size_t size, const struct value **out,
	   const char **why)
{
	size_t offset = 0;

	*why = pack_check(bytes, size);
	if (*why)
		return UNPACK_E_STRUCTURE;
	msgpack_zone_clear(&unpacker->zone);
	switch (msgpack_unpack((const char *)bytes, size, &offset, &unpacker->zone,
			       &unpacker->object)) {
	case MSGPACK_UNPACK_SUCCESS:
		break;
	case MSGPACK_UNPACK_NOMEM_ERROR:
		return -ENOMEM;
	default:
		*why = "the bytes are not valid msgpack";
		return UNPACK_E_STRUCTURE;
	}
	unpacker->wrong = false;
	check(unpacker, &unpacker->object, (struct text){"", 0});
	*out = (const struct value *)&unpacker->object;
	if (!unpacker->wrong)
		return 0;
	*why = unpacker->why;
	return UNPACK_E_VALUE;
}
