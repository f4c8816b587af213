/* SPDX-License-Identifier: MIT */
/*
 * Whole numbers, each in as few bytes (1 to 8) as the largest of them needs: labels, places in a
 * shard. Filled on one thread; then immutable, any thread.
 */
#ifndef STOKER_DATASET_NUMBER_LIST_H
#define STOKER_DATASET_NUMBER_LIST_H

#include <stdint.h>

struct number_list {
	uint8_t *data; /* little-endian, negative ones as their complement of two */
	uint64_t count;
	uint64_t capacity; /* in bytes */
	uint8_t width;	   /* bytes of a number; 0 before the first */
};
#define NUMBER_LIST_NULL ((struct number_list){0})

int number_list_add(struct number_list *list, int64_t number); /* 0 or -ENOMEM */
/* Put it in the place of another one; it needs no more bytes than the list's. */
void number_list_set(struct number_list *list, uint64_t at, int64_t number);
void number_list_shrink(struct number_list *list); /* no more numbers will come */
void number_list_deinit(struct number_list *list);

static inline int64_t number_list_at(const struct number_list *list, uint64_t at)
{
	const uint8_t *bytes = list->data + at * list->width;
	uint64_t number = 0;
	unsigned spare = 64 - 8 * list->width;
	for (unsigned i = list->width; i-- > 0;)
		number = number << 8 | bytes[i];
	return (int64_t)(number << spare) >> spare;
}

#endif
