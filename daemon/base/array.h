/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays: the capacity grows by half. Plain memory of the caller, free(); any thread.
 *	ARRAY_RESERVE(array, capacity, need): make room for `need` entries; 0 or -ENOMEM
 *	ARRAY_SHRINK(array, capacity, need): free the room after `need` entries
 * `array` is a pointer and `capacity` a uint64_t, both lvalues.
 */
#ifndef STOKER_BASE_ARRAY_H
#define STOKER_BASE_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline void *array_grown(void *array, uint64_t *capacity, uint64_t need, size_t entry)
{
	if (array && need <= *capacity)
		return array;
	uint64_t room = *capacity + *capacity / 2;
	if (room < need)
		room = need;
	if (room < 16)
		room = 16;
	size_t bytes;
	if (__builtin_mul_overflow(room, entry, &bytes))
		return NULL;
	void *grown = realloc(array, bytes);
	if (grown)
		*capacity = room;
	return grown;
}

static inline void *array_shrunk(void *array, uint64_t *capacity, uint64_t need, size_t entry)
{
	void *shrunk = need && need < *capacity ? realloc(array, need * entry) : NULL;
	if (!shrunk)
		return array;
	*capacity = need;
	return shrunk;
}

#define ARRAY_RESERVE(array, capacity, need)                                                       \
	__extension__({                                                                            \
		void *grown_ = array_grown((array), &(capacity), (need), sizeof(*(array)));        \
		if (grown_)                                                                        \
			(array) = grown_;                                                          \
		grown_ ? 0 : -ENOMEM;                                                              \
	})

#define ARRAY_SHRINK(array, capacity, need)                                                        \
	((array) = array_shrunk((array), &(capacity), (need), sizeof(*(array))))

#endif
