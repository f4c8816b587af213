/* SPDX-License-Identifier: MIT */
/*
 * An intrusive doubly linked list: the links are members of the listed structs, so nothing is
 * allocated and removal is O(1). The head is a link, too. One thread at a time.
 */
#ifndef STOKER_BASE_LIST_H
#define STOKER_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *prev, *next;
};

static inline void list_init(struct list *list)
{
	list->prev = list->next = list;
}

static inline bool list_empty(const struct list *list)
{
	return list->next == list;
}

static inline void list_append(struct list *list, struct list *link)
{
	link->prev = list->prev;
	link->next = list;
	list->prev->next = link;
	list->prev = link;
}

/* The link is empty afterwards: to remove it again does nothing. */
static inline void list_remove(struct list *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	list_init(link);
}

#define list_entry(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

/* The current `entry` may be removed while the list is walked, but no other. */
#define list_for_each(entry, next_entry, list, type, member)                                       \
	for (type *entry = list_entry((list)->next, type, member),                                 \
		  *next_entry = list_entry(entry->member.next, type, member);                      \
	     &entry->member != (list);                                                             \
	     entry = next_entry, next_entry = list_entry(entry->member.next, type, member))

#endif
