// SPDX-License-Identifier: MIT
#include "dataset/shards/key_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define KEY_LIST_BLOCK 32
#define SHARED_MAX 255

/* A record begins with the bytes that are shared, the rest's size and, if it is another than that
 * of the record before, the ending. */
#define HEAD_MAX 4
#define HEAD_MORE 0x80	 /* of the size's first byte: a second one has the upper bits */
#define HEAD_ENDING 0x40 /* there is an ending */
#define HEAD_SIZE_BITS 6

static const char *ending_of(const struct key_list *list, uint32_t number)
{
	const char *ending = list->endings;
	while (number-- > 0)
		ending += strlen(ending) + 1;
	return ending;
}

static int key_list_find_ending(struct key_list *list, const char *ending, size_t size,
				uint8_t *out)
{
	const char *at = list->endings;
	for (uint32_t i = 0; i < list->ending_count; i++, at += strlen(at) + 1) {
		if (strlen(at) == size && memcmp(at, ending, size) == 0) {
			*out = (uint8_t)i;
			return 0;
		}
	}
	if (list->ending_count == KEY_LIST_ENDINGS_MAX)
		return KEY_LIST_E_ENDINGS;
	if (ARRAY_RESERVE(list->endings, list->endings_capacity, list->endings_size + size + 1))
		return -ENOMEM;
	memcpy(list->endings + list->endings_size, ending, size);
	list->endings[list->endings_size + size] = '\0';
	list->endings_size += size + 1;
	*out = (uint8_t)list->ending_count++;
	return 0;
}

static size_t key_list_shared(const struct key_list *list, const char *key, size_t size)
{
	size_t shared = 0, most = size < list->last_size ? size : list->last_size;
	while (shared < most && shared < SHARED_MAX && key[shared] == list->last[shared])
		shared++;
	return shared;
}

struct record {
	size_t shared, rest;
	uint8_t ending;
};

/* Write the head of a record behind one with the ending `before`; returns its length. */
static size_t record_put(const struct record *record, uint8_t before, uint8_t *out)
{
	size_t size = 2;
	out[0] = (uint8_t)record->shared;
	out[1] = record->rest & ((1 << HEAD_SIZE_BITS) - 1);
	if (record->rest >> HEAD_SIZE_BITS) {
		out[1] |= HEAD_MORE;
		out[size++] = (uint8_t)(record->rest >> HEAD_SIZE_BITS);
	}
	if (record->ending != before) {
		out[1] |= HEAD_ENDING;
		out[size++] = record->ending;
	}
	return size;
}

/* The other way; an ending that is not there stays as it is. Returns the rest. */
static const uint8_t *record_take(const uint8_t *at, struct record *out)
{
	uint8_t first = at[1];
	out->shared = *at;
	out->rest = first & ((1 << HEAD_SIZE_BITS) - 1);
	at += 2;
	if (first & HEAD_MORE)
		out->rest |= (size_t)*at++ << HEAD_SIZE_BITS;
	if (first & HEAD_ENDING)
		out->ending = *at++;
	return at;
}

int key_list_add(struct key_list *list, const char *key, size_t size, const char *ending,
		 size_t ending_size)
{
	bool begins = list->count % KEY_LIST_BLOCK == 0;
	size_t shared = begins ? 0 : key_list_shared(list, key, size), rest = size - shared;
	uint8_t number;
	int result = key_list_find_ending(list, ending, ending_size, &number);
	if (result)
		return result;
	if (ARRAY_RESERVE(list->data, list->capacity, list->size + HEAD_MAX + rest) ||
	    ARRAY_RESERVE(list->blocks, list->block_capacity, list->block_count + 1))
		return -ENOMEM;
	if (begins)
		list->blocks[list->block_count++] = list->size;
	const struct record record = {shared, rest, number};
	list->size += record_put(&record, begins ? 0 : list->last_ending, list->data + list->size);
	memcpy(list->data + list->size, key + shared, rest);
	list->size += rest;
	memcpy(list->last, key, size);
	list->last_size = size;
	list->last_ending = number;
	list->count++;
	return 0;
}

void key_list_shrink(struct key_list *list)
{
	ARRAY_SHRINK(list->data, list->capacity, list->size);
	ARRAY_SHRINK(list->blocks, list->block_capacity, list->block_count);
	ARRAY_SHRINK(list->endings, list->endings_capacity, list->endings_size);
}

void key_list_deinit(struct key_list *list)
{
	free(list->data);
	free(list->blocks);
	free(list->endings);
	*list = (struct key_list){0};
}

size_t key_list_bytes(const struct key_list *list)
{
	return list->capacity + list->block_capacity * sizeof(*list->blocks) +
	       list->endings_capacity;
}

size_t key_list_read(const struct key_list *list, uint64_t number, char *out)
{
	const uint8_t *at = list->data + list->blocks[number / KEY_LIST_BLOCK];
	struct record record = {.ending = 0};
	for (uint64_t left = number % KEY_LIST_BLOCK + 1; left > 0; left--) {
		at = record_take(at, &record);
		memcpy(out + record.shared, at, record.rest);
		at += record.rest;
	}
	size_t size = record.shared + record.rest;
	const char *ending = ending_of(list, record.ending);
	size_t ending_size = strlen(ending);
	if (ending_size)
		out[size++] = '.';
	memcpy(out + size, ending, ending_size + 1);
	return size + ending_size;
}
