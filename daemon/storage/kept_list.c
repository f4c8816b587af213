// SPDX-License-Identifier: MIT
#include "storage/kept_list.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum kept_kind { KEPT_FILE = 'f', KEPT_FOLDER = 'd', KEPT_OTHER = 'o' };

static enum kept_kind kept_kind_of(const struct storage_entry *entry)
{
	if (entry->link)
		return KEPT_OTHER;
	return entry->kind == STORAGE_FILE     ? KEPT_FILE
	       : entry->kind == STORAGE_FOLDER ? KEPT_FOLDER
					       : KEPT_OTHER;
}

int kept_list_add(struct kept_list *list, const struct storage_entry *entry)
{
	enum kept_kind kind = kept_kind_of(entry);
	size_t id_size = kind == KEPT_FOLDER ? sizeof(entry->id) : 0;
	size_t name_size = strlen(entry->name) + 1;
	if (ARRAY_RESERVE(list->data, list->capacity, list->size + 1 + id_size + name_size))
		return -ENOMEM;
	uint8_t *at = list->data + list->size;
	*at++ = (uint8_t)kind;
	memcpy(at, entry->id, id_size);
	memcpy(at + id_size, entry->name, name_size);
	list->size += 1 + id_size + name_size;
	return 0;
}

/* The name of an entry. */
static const char *kept_name(const uint8_t *entry)
{
	return (const char *)entry + 1 + (*entry == KEPT_FOLDER ? 2 * sizeof(uint64_t) : 0);
}

static int entry_by_name(const void *a, const void *b)
{
	return strcmp(kept_name(*(const uint8_t *const *)a), kept_name(*(const uint8_t *const *)b));
}

/* Put copies of the entries, in the order of `entries`, into `out`. */
static void copy_entries(uint8_t *out, const uint8_t **entries, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		const char *name = kept_name(entries[i]);
		size_t size = (size_t)((const uint8_t *)name - entries[i]) + strlen(name) + 1;
		memcpy(out, entries[i], size);
		out += size;
	}
}

int kept_list_sort(struct kept_list *list)
{
	const uint8_t **entries = NULL;
	uint64_t count = 0, capacity = 0;
	struct storage_entry unused;
	uint8_t *sorted = list->size ? malloc(list->size) : NULL;
	int result = list->size && !sorted ? -ENOMEM : 0;
	for (uint64_t at = 0; !result && at < list->size;) {
		if (ARRAY_RESERVE(entries, capacity, count + 1)) {
			result = -ENOMEM;
			break;
		}
		entries[count++] = list->data + at;
		(void)kept_list_next(list, &at, &unused);
	}
	if (!result && count) {
		qsort(entries, count, sizeof(*entries), entry_by_name);
		copy_entries(sorted, entries, count);
		free(list->data);
		list->data = sorted;
		list->capacity = list->size;
		sorted = NULL;
	}
	free(sorted);
	free(entries);
	return result;
}

static bool is_a_name(const char *name, size_t size)
{
	return size > 0 && size <= NAME_MAX && !memchr(name, '/', size) && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

bool kept_list_is_whole(const struct kept_list *list)
{
	for (uint64_t at = 0; at < list->size;) {
		uint8_t kind = list->data[at++];
		if (kind != KEPT_FILE && kind != KEPT_FOLDER && kind != KEPT_OTHER)
			return false;
		uint64_t id_size = kind == KEPT_FOLDER ? 2 * sizeof(uint64_t) : 0;
		if (id_size >= list->size - at)
			return false;
		at += id_size;
		const char *name = (const char *)list->data + at;
		const char *end = memchr(name, '\0', list->size - at);
		if (!end || !is_a_name(name, (size_t)(end - name)))
			return false;
		at += (uint64_t)(end - name) + 1;
	}
	return true;
}

bool kept_list_next(const struct kept_list *list, uint64_t *at, struct storage_entry *out)
{
	if (*at >= list->size)
		return false;
	uint8_t kind = list->data[(*at)++];
	*out = (struct storage_entry){.kind = kind == KEPT_FILE	    ? STORAGE_FILE
					      : kind == KEPT_FOLDER ? STORAGE_FOLDER
								    : STORAGE_OTHER};
	if (kind == KEPT_FOLDER) {
		memcpy(out->id, list->data + *at, sizeof(out->id));
		*at += sizeof(out->id);
	}
	out->name = (const char *)list->data + *at;
	*at += strlen(out->name) + 1;
	return true;
}
