// SPDX-License-Identifier: MIT
#include "dataset/number_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

static uint8_t width_of(int64_t number)
{
	uint8_t width = 1;
	for (uint64_t rest = (uint64_t)(number < 0 ? ~number : number) >> 7; rest; rest >>= 8)
		width++;
	return width;
}

void number_list_set(struct number_list *list, uint64_t at, int64_t number)
{
	uint8_t *bytes = list->data + at * list->width;
	for (unsigned i = 0; i < list->width; i++)
		bytes[i] = (uint8_t)((uint64_t)number >> 8 * i);
}

/* In place, from the last one on: none is written over one that is still to be read. */
static int number_list_widen(struct number_list *list, uint8_t width)
{
	struct number_list wide = *list;
	wide.width = width;
	if (ARRAY_RESERVE(wide.data, wide.capacity, (list->count + 1) * width))
		return -ENOMEM;
	list->data = wide.data;
	for (uint64_t i = list->count; i-- > 0;)
		number_list_set(&wide, i, number_list_at(list, i));
	*list = wide;
	return 0;
}

int number_list_add(struct number_list *list, int64_t number)
{
	uint8_t width = width_of(number);
	if (width > list->width && number_list_widen(list, width))
		return -ENOMEM;
	if (ARRAY_RESERVE(list->data, list->capacity, (list->count + 1) * list->width))
		return -ENOMEM;
	number_list_set(list, list->count++, number);
	return 0;
}

void number_list_shrink(struct number_list *list)
{
	ARRAY_SHRINK(list->data, list->capacity, list->count * list->width);
}

void number_list_deinit(struct number_list *list)
{
	free(list->data);
	*list = NUMBER_LIST_NULL;
}
