/* SPDX-License-Identifier: MIT */
/*
 * Class names as a manifest brings them, in any order and again and again: each gets a number when
 * it is first met, and at the end its place in the order of names, by bytes. Filled on one thread.
 */
#ifndef STOKER_DATASET_CLASS_NAMES_H
#define STOKER_DATASET_CLASS_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define CLASS_NAME_MAX 255 /* bytes */

struct class_names {
	char *text; /* the names, each terminated */
	uint64_t size, capacity;
	uint64_t *names; /* where each begins in `text`, in the order in which they were met */
	uint64_t count, names_capacity;
	uint32_t *table; /* a hash table of the names: numbers + 1, 0 is empty */
	uint64_t table_size;
};
#define CLASS_NAMES_NULL ((struct class_names){0})

/* The number of a name of at most CLASS_NAME_MAX bytes, without a NUL. 0 or -ENOMEM. */
int class_names_add(struct class_names *names, const char *name, size_t size, uint32_t *number_out);
/* The numbers of all names in the order of the names, the caller's to free; NULL: no memory. */
uint32_t *class_names_sorted(const struct class_names *names);
const char *class_names_text(const struct class_names *names, uint32_t number);
void class_names_deinit(struct class_names *names);

#endif
