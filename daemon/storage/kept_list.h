/* SPDX-License-Identifier: MIT */
/*
 * A kept list: what the list of a folder gave, so that it can be given again without one as long as
 * the folder has the same version. Files and folders have their names, a folder its id, too; of all
 * else there is the name alone, and it is looked at again: links, and what is no file.
 *
 * Entries lie one behind the other: a byte that says which, the id, the name with its end. A list
 * that comes from a disk is checked first; any thread then.
 */
#ifndef STOKER_STORAGE_KEPT_LIST_H
#define STOKER_STORAGE_KEPT_LIST_H

#include "storage/storage.h"

struct kept_list {
	uint8_t *data; /* the owner's */
	uint64_t size, capacity;
};

/* 0 or -ENOMEM. */
int kept_list_add(struct kept_list *list, const struct storage_entry *entry);
/* By name, so that who takes them need not sort them. 0, or -ENOMEM: as it was. */
int kept_list_sort(struct kept_list *list);
/* Can each entry be what a folder has? */
bool kept_list_is_whole(const struct kept_list *list);
/* The entry at *at, which goes on to the next; kind STORAGE_OTHER: look at it. False: there is none
 * more. Of a whole list. */
bool kept_list_next(const struct kept_list *list, uint64_t *at, struct storage_entry *out);

#endif
