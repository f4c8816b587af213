// SPDX-License-Identifier: MIT
#include "dataset/shards/key_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define KEY_LIST_BLOCK 16
#define RECORD_HEAD 4 /* shared, ending, and the rest's size in two bytes */
#define SHARED_MAX 255

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

int key_list_add(struct key_list *list, const char *key, size_t size, const char *ending,
		 size_t ending_size)
{
	bool begins = list->count % KEY_LIST_BLOCK == 0;
	size_t shared = begins ? 0 : key_list_shared(list, key, size), rest = size - shared;
	uint8_t number;
	int result = key_list_find_ending(list, ending, ending_size, &number);
	if (result)
		return result;
	if (ARRAY_RESERVE(list->data, list->capacity, list->size + RECORD_HEAD + rest) ||
	    ARRAY_RESERVE(list->blocks, list->block_capacity, list->block_count + 1))
		return -ENOMEM;
	if (begins)
		list->blocks[list->block_count++] = list->size;
	uint8_t *record = list->data + list->size;
	record[0] = (uint8_t)shared;
	record[1] = number;
	record[2] = (uint8_t)rest;
	record[3] = (uint8_t)(rest >> 8);
	memcpy(record + RECORD_HEAD, key + shared, rest);
	list->size += RECORD_HEAD + rest;
	memcpy(list->last, key, size);
	list->last_size = size;
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

static size_t rest_of(const uint8_t *record)
{
	return (size_t)record[2] | (size_t)record[3] << 8;
}

size_t key_list_read(const struct key_list *list, uint64_t number, char *out)
{
	const uint8_t *record = list->data + list->blocks[number / KEY_LIST_BLOCK];
	size_t size = 0;
	for (uint64_t left = number % KEY_LIST_BLOCK;; left--) {
		size_t rest = rest_of(record);
		memcpy(out + record[0], record + RECORD_HEAD, rest);
		size = record[0] + rest;
		if (left == 0)
			break;
		record += RECORD_HEAD + rest;
	}
	const char *ending = ending_of(list, record[1]);
	size_t ending_size = strlen(ending);
	if (ending_size)
		out[size++] = '.';
	memcpy(out + size, ending, ending_size + 1);
	return size + ending_size;
}
