// SPDX-License-Identifier: MIT
#include "decode/jpeg/seek_index_set.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_SAMPLES 512

struct entry {
	struct entry *next; /* in the list of replaced entries */
	struct stamp stamp;
	uint32_t size;	/* 0: this file has no index ... */
	uint8_t reason; /* ... and why: SEEK_INDEX_E_... */
	atomic_bool growing;
	_Alignas(8) uint8_t bytes[];
};

struct page {
	_Atomic(struct entry *) entries[PAGE_SAMPLES];
	_Atomic uint32_t sound[PAGE_SAMPLES]; /* mark_of() the file that was found sound, or 0 */
};

struct seek_index_set {
	struct seek_index_budget *account;
	struct seek_index_share *share; /* or NULL */
	uint64_t samples;
	_Atomic uint64_t charged, changes;
	_Atomic(struct entry *) replaced; /* readers may still use them: freed with the set */
	_Atomic(struct page *) pages[];
};

static uint64_t seek_index_set_pages(uint64_t samples)
{
	return (samples + PAGE_SAMPLES - 1) / PAGE_SAMPLES;
}

int seek_index_set_new(struct seek_index_set **out, struct seek_index_budget *account,
		       struct seek_index_share *share, uint64_t samples)
{
	uint64_t pages = seek_index_set_pages(samples);
	if (pages > (SIZE_MAX - sizeof(struct seek_index_set)) / sizeof(struct page *))
		return -ENOMEM;
	struct seek_index_set *set = calloc(1, sizeof(*set) + pages * sizeof(struct page *));
	if (!set)
		return -ENOMEM;
	set->account = account;
	set->share = share;
	set->samples = samples;
	*out = set;
	return 0;
}

/* Charge it to the budget and to the share. False: one of them has too little left; it is charged
 * all the same, for the caller to refund. */
static bool seek_index_set_charge(struct seek_index_set *set, uint64_t bytes)
{
	struct seek_index_budget *account = set->account;
	struct seek_index_share *share = set->share;
	bool room = atomic_fetch_add(&account->bytes, bytes) + bytes <= account->limit;
	if (share && atomic_fetch_add(&share->bytes, bytes) + bytes > atomic_load(&share->limit))
		room = false;
	return room;
}

static void seek_index_set_refund(struct seek_index_set *set, uint64_t bytes)
{
	atomic_fetch_sub(&set->account->bytes, bytes);
	if (set->share)
		atomic_fetch_sub(&set->share->bytes, bytes);
}

/* An index that would not fit is not built; one of a photograph takes 1 or 2 KB. */
static bool seek_index_set_has_room(const struct seek_index_set *set)
{
	const struct seek_index_share *share = set->share;
	return atomic_load(&set->account->bytes) + 1024 < set->account->limit &&
	       (!share || atomic_load(&share->bytes) + 1024 < atomic_load(&share->limit));
}

void seek_index_set_free(struct seek_index_set *set)
{
	if (!set)
		return;
	for (uint64_t i = 0; i < seek_index_set_pages(set->samples); i++) {
		struct page *page = atomic_load(&set->pages[i]);
		for (unsigned k = 0; page && k < PAGE_SAMPLES; k++)
			free(atomic_load(&page->entries[k]));
		free(page);
	}
	for (struct entry *entry = atomic_load(&set->replaced); entry;) {
		struct entry *next = entry->next;
		free(entry);
		entry = next;
	}
	seek_index_set_refund(set, atomic_load(&set->charged));
	free(set);
}

/* Zeroed memory, charged; NULL if the budget or the share is used up, or malloc fails. */
static void *seek_index_set_take(struct seek_index_set *set, size_t size)
{
	void *memory = seek_index_set_charge(set, size) ? calloc(1, size) : NULL;
	if (!memory)
		seek_index_set_refund(set, size);
	else
		atomic_fetch_add(&set->charged, size);
	return memory;
}

static void seek_index_set_give(struct seek_index_set *set, void *memory, size_t size)
{
	free(memory);
	atomic_fetch_sub(&set->charged, size);
	seek_index_set_refund(set, size);
}

static struct page *seek_index_set_page(struct seek_index_set *set, uint64_t sample)
{
	assert(sample < set->samples);
	_Atomic(struct page *) *at = &set->pages[sample / PAGE_SAMPLES];
	struct page *page = atomic_load(at);
	if (!page) {
		struct page *fresh = seek_index_set_take(set, sizeof(*fresh));
		if (!fresh)
			return NULL;
		if (atomic_compare_exchange_strong(at, &page, fresh))
			page = fresh;
		else
			seek_index_set_give(set, fresh, sizeof(*fresh));
	}
	return page;
}

static _Atomic(struct entry *) *seek_index_set_slot(struct seek_index_set *set, uint64_t sample)
{
	struct page *page = seek_index_set_page(set, sample);
	return page ? &page->entries[sample % PAGE_SAMPLES] : NULL;
}

enum seek_index_set_answer seek_index_set_find(struct seek_index_set *set, uint64_t sample,
					       const struct stamp *stamp, const uint8_t **bytes_out,
					       size_t *size_out)
{
	struct seek_index_budget *account = set->account;
	_Atomic(struct entry *) *slot = seek_index_set_slot(set, sample);
	struct entry *entry = slot ? atomic_load(slot) : NULL;
	if (entry && stamp_equal(&entry->stamp, stamp)) {
		if (entry->size == 0)
			return SEEK_INDEX_SET_NEVER;
		*bytes_out = entry->bytes;
		*size_out = entry->size;
		atomic_fetch_add_explicit(&account->used, 1, memory_order_relaxed);
		return SEEK_INDEX_SET_INDEX;
	}
	if (slot && seek_index_set_has_room(set))
		return SEEK_INDEX_SET_NONE;
	atomic_fetch_add_explicit(&account->full, 1, memory_order_relaxed);
	return SEEK_INDEX_SET_NEVER;
}

/* Only one thread at a time extends an index; if another one tries, its rows are dropped. */
static void seek_index_set_merge(struct seek_index_set *set, struct entry *entry,
				 const uint8_t *index)
{
	if (entry->size == 0 || atomic_exchange(&entry->growing, true))
		return;
	seek_index_merge(entry->bytes, index);
	atomic_fetch_add_explicit(&set->changes, 1, memory_order_relaxed);
	atomic_store(&entry->growing, false);
}

static struct entry *seek_index_set_entry(struct seek_index_set *set, const struct stamp *stamp,
					  size_t size)
{
	struct entry *entry = seek_index_set_take(set, sizeof(*entry) + size);
	if (entry) {
		entry->stamp = *stamp;
		entry->size = (uint32_t)size;
	}
	return entry;
}

/* Replace `old`; false if another thread has replaced it before. */
static bool seek_index_set_keep(struct seek_index_set *set, _Atomic(struct entry *) *slot,
				struct entry *old, struct entry *entry)
{
	if (!atomic_compare_exchange_strong(slot, &old, entry)) {
		seek_index_set_give(set, entry, sizeof(*entry) + entry->size);
		return false;
	}
	if (old) {
		old->next = atomic_load(&set->replaced);
		while (!atomic_compare_exchange_weak(&set->replaced, &old->next, old))
			;
	}
	return true;
}

/* Take in an index; *full_out is set if there is no room for it. */
static bool seek_index_set_add(struct seek_index_set *set, uint64_t sample,
			       const struct stamp *stamp, const uint8_t *bytes, size_t size,
			       bool *full_out)
{
	size_t whole = sample < set->samples ? seek_index_size(bytes, size) : 0;
	_Atomic(struct entry *) *slot = whole > 0 ? seek_index_set_slot(set, sample) : NULL;
	struct entry *old = slot ? atomic_load(slot) : NULL;
	if (old && stamp_equal(&old->stamp, stamp)) {
		seek_index_set_merge(set, old, bytes);
		return false;
	}
	struct entry *entry = slot ? seek_index_set_entry(set, stamp, whole) : NULL;
	*full_out = slot && !entry;
	if (!entry)
		return false;
	seek_index_init(entry->bytes, bytes);
	return seek_index_set_keep(set, slot, old, entry);
}

bool seek_index_set_load(struct seek_index_set *set, uint64_t sample, const struct stamp *stamp,
			 const uint8_t *bytes, size_t size)
{
	bool full = false;
	return seek_index_set_add(set, sample, stamp, bytes, size, &full);
}

bool seek_index_set_put(struct seek_index_set *set, uint64_t sample, const struct stamp *stamp,
			const uint8_t *bytes, size_t size)
{
	bool full = false, fresh = seek_index_set_add(set, sample, stamp, bytes, size, &full);
	if (fresh) {
		atomic_fetch_add_explicit(&set->account->built, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&set->changes, 1, memory_order_relaxed);
	}
	if (full)
		atomic_fetch_add_explicit(&set->account->full, 1, memory_order_relaxed);
	return fresh;
}

void seek_index_set_refuse(struct seek_index_set *set, uint64_t sample, const struct stamp *stamp,
			   int reason)
{
	assert(reason > 0 && reason < SEEK_INDEX_REASONS);
	_Atomic(struct entry *) *slot = seek_index_set_slot(set, sample);
	struct entry *old = slot ? atomic_load(slot) : NULL;
	bool known = old && old->size == 0 && stamp_equal(&old->stamp, stamp);
	struct entry *entry = slot && !known ? seek_index_set_entry(set, stamp, 0) : NULL;
	if (entry)
		entry->reason = (uint8_t)reason;
	if (entry && seek_index_set_keep(set, slot, old, entry))
		atomic_fetch_add_explicit(&set->account->refused[reason], 1, memory_order_relaxed);
}

int seek_index_set_verdict(struct seek_index_set *set, uint64_t sample, const struct stamp *stamp,
			   uint64_t *bytes_out)
{
	_Atomic(struct entry *) *slot = seek_index_set_slot(set, sample);
	const struct entry *entry = slot ? atomic_load(slot) : NULL;
	*bytes_out = 0;
	if (!entry || !stamp_equal(&entry->stamp, stamp))
		return SEEK_INDEX_REASONS;
	*bytes_out = entry->size;
	return entry->reason;
}

/* A short hash of the stamp that is never 0. */
static uint32_t mark_of(const struct stamp *stamp)
{
	uint32_t mark = (uint32_t)(stamp_mark(stamp) >> 32);
	return mark ? mark : 1;
}

bool seek_index_set_is_sound(struct seek_index_set *set, uint64_t sample, const struct stamp *stamp)
{
	struct page *page = seek_index_set_page(set, sample);
	return page && atomic_load(&page->sound[sample % PAGE_SAMPLES]) == mark_of(stamp);
}

void seek_index_set_found_sound(struct seek_index_set *set, uint64_t sample,
				const struct stamp *stamp)
{
	struct page *page = seek_index_set_page(set, sample);
	if (page)
		atomic_store(&page->sound[sample % PAGE_SAMPLES], mark_of(stamp));
}

uint64_t seek_index_set_changes(const struct seek_index_set *set)
{
	return atomic_load(&set->changes);
}

int seek_index_set_each(const struct seek_index_set *set, seek_index_set_callback *each,
			void *context)
{
	struct buffer copy = BUFFER_NULL;
	int r = 0;
	for (uint64_t sample = 0; sample < set->samples && r == 0; sample++) {
		const struct page *page = atomic_load(&set->pages[sample / PAGE_SAMPLES]);
		const struct entry *entry =
			page ? atomic_load(&page->entries[sample % PAGE_SAMPLES]) : NULL;
		if (!entry || entry->size == 0)
			continue;
		r = seek_index_copy(&copy, entry->bytes);
		r = r ? r : each(context, sample, &entry->stamp, copy.data, copy.size);
	}
	buffer_deinit(&copy);
	return r;
}
