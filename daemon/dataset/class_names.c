// SPDX-License-Identifier: MIT
#include "dataset/class_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/digest.h"

const char *class_names_text(const struct class_names *names, uint32_t number)
{
	return names->text + names->names[number];
}

/* The slot of the hash table that holds this name, or that it would be put in. */
static uint64_t class_names_slot(const struct class_names *names, const char *name, size_t size)
{
	struct digest digest = digest_of(name, size);
	uint64_t slot;
	memcpy(&slot, digest.bytes, sizeof(slot));
	for (;; slot++) {
		slot &= names->table_size - 1;
		if (names->table[slot] == 0)
			return slot;
		const char *other = class_names_text(names, names->table[slot] - 1);
		if (strlen(other) == size && memcmp(other, name, size) == 0)
			return slot;
	}
}

/* Make room for one more; the table stays at most half full. */
static int class_names_grow(struct class_names *names)
{
	if (names->count * 2 < names->table_size)
		return 0;
	uint64_t size = names->table_size ? names->table_size * 2 : 256;
	uint32_t *table = calloc(size, sizeof(*table));
	if (!table)
		return -ENOMEM;
	free(names->table);
	names->table = table;
	names->table_size = size;
	for (uint32_t i = 0; i < names->count; i++) {
		const char *name = class_names_text(names, i);
		table[class_names_slot(names, name, strlen(name))] = i + 1;
	}
	return 0;
}

int class_names_add(struct class_names *names, const char *name, size_t size, uint32_t *number_out)
{
	if (class_names_grow(names))
		return -ENOMEM;
	uint64_t slot = class_names_slot(names, name, size);
	if (names->table[slot] == 0) {
		if (ARRAY_RESERVE(names->text, names->capacity, names->size + size + 1) ||
		    ARRAY_RESERVE(names->names, names->names_capacity, names->count + 1))
			return -ENOMEM;
		memcpy(names->text + names->size, name, size);
		names->text[names->size + size] = '\0';
		names->names[names->count] = names->size;
		names->size += size + 1;
		names->table[slot] = (uint32_t)++names->count;
	}
	*number_out = names->table[slot] - 1;
	return 0;
}

static int class_names_compare(const void *a, const void *b, void *context)
{
	return strcmp(class_names_text(context, *(const uint32_t *)a),
		      class_names_text(context, *(const uint32_t *)b));
}

uint32_t *class_names_sorted(const struct class_names *names)
{
	uint32_t *sorted = malloc((names->count ? names->count : 1) * sizeof(*sorted));
	if (!sorted)
		return NULL;
	for (uint32_t i = 0; i < names->count; i++)
		sorted[i] = i;
	qsort_r(sorted, names->count, sizeof(*sorted), class_names_compare, (void *)names);
	return sorted;
}

void class_names_deinit(struct class_names *names)
{
	free(names->text);
	free(names->names);
	free(names->table);
	*names = CLASS_NAMES_NULL;
}
