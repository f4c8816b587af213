/* SPDX-License-Identifier: MIT */
/*
 * The one file that includes <msgpack.h>.
 *
 * msgpack-c allocates what the counts claim, and a peer can claim gigabytes with five bytes. So the
 * bytes are checked first (proto/check.h). After that every count is bounded and backed by bytes,
 * and the size of the tree is known before it is made.
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

static void pack_items(struct packer *packer, const struct value *value)
{
	pack_list(packer, value->count);
	for (uint32_t i = 0; i < value->count; i++)
		pack_value(packer, &value->items[i]);
}

static void pack_pairs(struct packer *packer, const struct value *value)
{
	pack_map(packer, value->count);
	for (uint32_t i = 0; i < value->count; i++) {
		pack_text(packer, value->pairs[i].key);
		pack_value(packer, &value->pairs[i].value);
	}
}

void pack_value(struct packer *packer, const struct value *value)
{
	switch (value->kind) {
	case VALUE_NIL:
		pack_nil(packer);
		break;
	case VALUE_BOOLEAN:
		pack_boolean(packer, value->boolean);
		break;
	case VALUE_UINT:
		pack_uint(packer, value->uint);
		break;
	case VALUE_INT:
		pack_int(packer, value->sint);
		break;
	case VALUE_FLOAT:
		pack_float(packer, value->number);
		break;
	case VALUE_TEXT:
		pack_text(packer, value->text);
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

/*
 * A node of a tree takes sizeof(struct value) at most: a pair is two nodes, and smaller than two
 * values. So the size of one block that holds the whole tree is known from the number of nodes.
 */
_Static_assert(sizeof(struct pair) <= 2 * sizeof(struct value), "the arena's bound");
_Static_assert(sizeof(struct pair) % _Alignof(struct value) == 0, "the arena stays aligned");

struct unpacker {
	msgpack_zone zone;
	char *arena; /* owned */
	size_t arena_size, arena_used;
	const struct pair *sorted[PROTO_NODES_MAX / 2]; /* scratch of find_twins() */
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
	free(unpacker->arena);
	free(unpacker);
}

static int arena_reset(struct unpacker *unpacker, uint32_t nodes)
{
	size_t size = nodes * sizeof(struct value);

	unpacker->arena_used = 0;
	if (size <= unpacker->arena_size)
		return 0;
	free(unpacker->arena);
	unpacker->arena_size = 0;
	unpacker->arena = malloc(size);
	if (!unpacker->arena)
		return -ENOMEM;
	unpacker->arena_size = size;
	return 0;
}

static void *arena_take(struct unpacker *unpacker, size_t size)
{
	void *at = unpacker->arena + unpacker->arena_used;

	unpacker->arena_used += size;
	return at;
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

static int pair_compare(const void *left, const void *right)
{
	const struct pair *a = *(const struct pair *const *)left;
	const struct pair *b = *(const struct pair *const *)right;

	if (a->key.size != b->key.size)
		return a->key.size < b->key.size ? -1 : 1;
	return a->key.size ? memcmp(a->key.data, b->key.data, a->key.size) : 0;
}

/* Find keys that occur twice, in O(n log n): a map may have thousands. */
static void find_twins(struct unpacker *unpacker, const struct pair *pairs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		unpacker->sorted[i] = &pairs[i];
	qsort(unpacker->sorted, count, sizeof(*unpacker->sorted), pair_compare);
	for (uint32_t i = 1; i < count; i++)
		if (pair_compare(&unpacker->sorted[i - 1], &unpacker->sorted[i]) == 0)
			say_wrong(unpacker, "occurs twice", unpacker->sorted[i]->key);
}

static struct value convert(struct unpacker *unpacker, const msgpack_object *object,
			    struct text key);

static struct value convert_list(struct unpacker *unpacker, const msgpack_object_array *array,
				 struct text key)
{
	struct value *items = arena_take(unpacker, array->size * sizeof(*items));

	for (uint32_t i = 0; i < array->size; i++)
		items[i] = convert(unpacker, &array->ptr[i], key);
	return (struct value){.kind = VALUE_LIST, .count = array->size, .items = items};
}

static struct text convert_key(struct unpacker *unpacker, const msgpack_object *object)
{
	if (object->type == MSGPACK_OBJECT_STR)
		return (struct text){object->via.str.ptr, object->via.str.size};
	if (object->type == MSGPACK_OBJECT_BIN)
		return (struct text){object->via.bin.ptr, object->via.bin.size};
	say_wrong(unpacker, "a map has a key that is not a text", (struct text){"", 0});
	return (struct text){"", 0};
}

static struct value convert_map(struct unpacker *unpacker, const msgpack_object_map *map)
{
	struct pair *pairs = arena_take(unpacker, map->size * sizeof(*pairs));

	for (uint32_t i = 0; i < map->size; i++) {
		pairs[i].key = convert_key(unpacker, &map->ptr[i].key);
		pairs[i].value = convert(unpacker, &map->ptr[i].val, pairs[i].key);
	}
	find_twins(unpacker, pairs, map->size);
	return (struct value){.kind = VALUE_MAP, .count = map->size, .pairs = pairs};
}

static struct value convert_float(struct unpacker *unpacker, double number, struct text key)
{
	if (!isfinite(number)) {
		say_wrong(unpacker, "must be a finite number", key);
		number = 0;
	}
	return (struct value){.kind = VALUE_FLOAT, .number = number};
}

/* `key` is that of the value, or of the list around it: for the message. */
static struct value convert(struct unpacker *unpacker, const msgpack_object *object,
			    struct text key)
{
	const msgpack_object_union *via = &object->via;

	switch (object->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		return (struct value){.kind = VALUE_BOOLEAN, .boolean = via->boolean};
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		return (struct value){.kind = VALUE_UINT, .uint = via->u64};
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		return (struct value){.kind = VALUE_INT, .sint = via->i64};
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		return convert_float(unpacker, via->f64, key);
	case MSGPACK_OBJECT_STR:
		return (struct value){.kind = VALUE_TEXT, .text = {via->str.ptr, via->str.size}};
	case MSGPACK_OBJECT_BIN:
		return (struct value){.kind = VALUE_TEXT, .text = {via->bin.ptr, via->bin.size}};
	case MSGPACK_OBJECT_ARRAY:
		return convert_list(unpacker, &via->array, key);
	case MSGPACK_OBJECT_MAP:
		return convert_map(unpacker, &via->map);
	case MSGPACK_OBJECT_NIL:
	case MSGPACK_OBJECT_EXT: /* pack_check() refuses those */
		break;
	}
	return (struct value){.kind = VALUE_NIL};
}

int unpack(struct unpacker *unpacker, const uint8_t *bytes, size_t size, struct value *out,
	   const char **why)
{
	msgpack_object object;
	size_t offset = 0;
	uint32_t nodes;

	*why = bytes_check(bytes, size, &nodes);
	if (*why)
		return UNPACK_E_STRUCTURE;
	if (arena_reset(unpacker, nodes))
		return -ENOMEM;
	msgpack_zone_clear(&unpacker->zone);
	switch (msgpack_unpack((const char *)bytes, size, &offset, &unpacker->zone, &object)) {
	case MSGPACK_UNPACK_SUCCESS:
		break;
	case MSGPACK_UNPACK_NOMEM_ERROR:
		return -ENOMEM;
	default:
		*why = "the bytes are not valid msgpack";
		return UNPACK_E_STRUCTURE;
	}
	unpacker->wrong = false;
	*out = convert(unpacker, &object, (struct text){"", 0});
	if (!unpacker->wrong)
		return 0;
	*why = unpacker->why;
	return UNPACK_E_VALUE;
}
