/* SPDX-License-Identifier: MIT */
/*
 * A doubly linked list whose links live in its members: no allocation, removal in one step. The
 * head is a link too. One thread at a time.
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

/* Leaves the link empty, so that it may be removed again. */
static inline void list_remove(struct list *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	list_init(link);
}

#define list_entry(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

/* `entry` may be removed, but no other, while the list is walked. */
#define list_for_each(entry, next_entry, list, type, member)                                       \
	for (type *entry = list_entry((list)->next, type, member),                                 \
		  *next_entry = list_entry(entry->member.next, type, member);                      \
	     &entry->member != (list);                                                             \
	     entry = next_entry, next_entry = list_entry(entry->member.next, type, member))

#endif
