// SPDX-License-Identifier: MIT
#include "decode/jpeg/seek_index_set.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_SAMPLES 1024

struct entry {
	struct entry *next; /* of those that were replaced */
	struct stamp stamp;
	uint32_t size;	/* 0: there is no index for this file ... */
	uint8_t reason; /* ... and why: SEEK_INDEX_E_... */
	atomic_bool growing;
	_Alignas(8) uint8_t bytes[];
};

struct page {
	_Atomic(struct entry *) entries[PAGE_SAMPLES];
};

struct seek_index_set {
	struct seek_index_account *account;
	uint64_t samples;
	_Atomic uint64_t charged, changes;
	_Atomic(struct entry *) replaced; /* a reader may still hold one: kept until the end */
	_Atomic(struct page *) pages[];
};

static uint64_t seek_index_set_pages(uint64_t samples)
{
	return (samples + PAGE_SAMPLES - 1) / PAGE_SAMPLES;
}

int seek_index_set_new(struct seek_index_set **out, struct seek_index_account *account,
		       uint64_t samples)
{
	uint64_t pages = seek_index_set_pages(samples);
	if (pages > (SIZE_MAX - sizeof(struct seek_index_set)) / sizeof(struct page *))
		return -ENOMEM;
	struct seek_index_set *seek_indexes =
		calloc(1, sizeof(*seek_indexes) + pages * sizeof(struct page *));
	if (!seek_indexes)
		return -ENOMEM;
	seek_indexes->account = account;
	seek_indexes->samples = samples;
	*out = seek_indexes;
	return 0;
}

void seek_index_set_free(struct seek_index_set *seek_indexes)
{
	if (!seek_indexes)
		return;
	for (uint64_t i = 0; i < seek_index_set_pages(seek_indexes->samples); i++) {
		struct page *page = atomic_load(&seek_indexes->pages[i]);
		for (unsigned k = 0; page && k < PAGE_SAMPLES; k++)
			free(atomic_load(&page->entries[k]));
		free(page);
	}
	for (struct entry *entry = atomic_load(&seek_indexes->replaced); entry;) {
		struct entry *next = entry->next;
		free(entry);
		entry = next;
	}
	atomic_fetch_sub(&seek_indexes->account->bytes, atomic_load(&seek_indexes->charged));
	free(seek_indexes);
}

/* Memory within the budget, zero; NULL if there is none. */
static void *seek_index_set_take(struct seek_index_set *seek_indexes, size_t size)
{
	struct seek_index_account *account = seek_indexes->account;
	if (atomic_fetch_add(&account->bytes, size) + size > account->limit) {
		atomic_fetch_sub(&account->bytes, size);
		return NULL;
	}
	void *memory = calloc(1, size);
	if (memory)
		atomic_fetch_add(&seek_indexes->charged, size);
	else
		atomic_fetch_sub(&account->bytes, size);
	return memory;
}

static void seek_index_set_give(struct seek_index_set *seek_indexes, void *memory, size_t size)
{
	free(memory);
	atomic_fetch_sub(&seek_indexes->charged, size);
	atomic_fetch_sub(&seek_indexes->account->bytes, size);
}

static _Atomic(struct entry *) *seek_index_set_place(struct seek_index_set *seek_indexes,
						     uint64_t sample)
{
	assert(sample < seek_indexes->samples);
	_Atomic(struct page *) *at = &seek_indexes->pages[sample / PAGE_SAMPLES];
	struct page *page = atomic_load(at);
	if (!page) {
		struct page *fresh = seek_index_set_take(seek_indexes, sizeof(*fresh));
		if (!fresh)
			return NULL;
		if (atomic_compare_exchange_strong(at, &page, fresh))
			page = fresh;
		else
			seek_index_set_give(seek_indexes, fresh, sizeof(*fresh));
	}
	return &page->entries[sample % PAGE_SAMPLES];
}

enum seek_index_set_answer seek_index_set_find(struct seek_index_set *seek_indexes, uint64_t sample,
					       const struct stamp *stamp, const uint8_t **bytes_out,
					       size_t *size_out)
{
	struct seek_index_account *account = seek_indexes->account;
	_Atomic(struct entry *) *place = seek_index_set_place(seek_indexes, sample);
	struct entry *entry = place ? atomic_load(place) : NULL;
	if (entry && stamp_equal(&entry->stamp, stamp)) {
		if (entry->size == 0)
			return SEEK_INDEX_SET_NEVER;
		*bytes_out = entry->bytes;
		*size_out = entry->size;
		atomic_fetch_add_explicit(&account->used, 1, memory_order_relaxed);
		return SEEK_INDEX_SET_INDEX;
	}
	/* Nothing is built that could not be kept: an index of a photograph has 1 or 2 KB. */
	if (place && atomic_load(&account->bytes) + 1024 < account->limit)
		return SEEK_INDEX_SET_NONE;
	atomic_fetch_add_explicit(&account->full, 1, memory_order_relaxed);
	return SEEK_INDEX_SET_NEVER;
}

/* Only one thread makes an index grow at a time; what another one has learnt meanwhile is dropped.
 */
static void seek_index_set_grow(struct seek_index_set *seek_indexes, struct entry *entry,
				const uint8_t *index)
{
	if (entry->size == 0 || atomic_exchange(&entry->growing, true))
		return;
	seek_index_grow(entry->bytes, index);
	atomic_fetch_add_explicit(&seek_indexes->changes, 1, memory_order_relaxed);
	atomic_store(&entry->growing, false);
}

static struct entry *seek_index_set_entry(struct seek_index_set *seek_indexes,
					  const struct stamp *stamp, size_t size)
{
	struct entry *entry = seek_index_set_take(seek_indexes, sizeof(*entry) + size);
	if (entry) {
		entry->stamp = *stamp;
		entry->size = (uint32_t)size;
	}
	return entry;
}

/* In place of `old`; false if that is not there any more. */
static bool seek_index_set_keep(struct seek_index_set *seek_indexes, _Atomic(struct entry *) *place,
				struct entry *old, struct entry *entry)
{
	if (!atomic_compare_exchange_strong(place, &old, entry)) {
		seek_index_set_give(seek_indexes, entry, sizeof(*entry) + entry->size);
		return false;
	}
	if (old) {
		old->next = atomic_load(&seek_indexes->replaced);
		while (!atomic_compare_exchange_weak(&seek_indexes->replaced, &old->next, old))
			;
	}
	return true;
}

bool seek_index_set_load(struct seek_index_set *seek_indexes, uint64_t sample,
			 const struct stamp *stamp, const uint8_t *bytes, size_t size)
{
	size_t whole = sample < seek_indexes->samples ? seek_index_size(bytes, size) : 0;
	_Atomic(struct entry *) *place =
		whole > 0 ? seek_index_set_place(seek_indexes, sample) : NULL;
	struct entry *old = place ? atomic_load(place) : NULL;
	if (old && stamp_equal(&old->stamp, stamp)) {
		seek_index_set_grow(seek_indexes, old, bytes);
		return false;
	}
	struct entry *entry = place ? seek_index_set_entry(seek_indexes, stamp, whole) : NULL;
	if (!entry)
		return false;
	seek_index_start(entry->bytes, bytes);
	return seek_index_set_keep(seek_indexes, place, old, entry);
}

bool seek_index_set_put(struct seek_index_set *seek_indexes, uint64_t sample,
			const struct stamp *stamp, const uint8_t *bytes, size_t size)
{
	bool fresh = seek_index_set_load(seek_indexes, sample, stamp, bytes, size);
	if (fresh) {
		atomic_fetch_add_explicit(&seek_indexes->account->built, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&seek_indexes->changes, 1, memory_order_relaxed);
	}
	return fresh;
}

void seek_index_set_refuse(struct seek_index_set *seek_indexes, uint64_t sample,
			   const struct stamp *stamp, int reason)
{
	assert(reason > 0 && reason < SEEK_INDEX_REASONS);
	_Atomic(struct entry *) *place = seek_index_set_place(seek_indexes, sample);
	struct entry *old = place ? atomic_load(place) : NULL;
	bool known = old && old->size == 0 && stamp_equal(&old->stamp, stamp);
	struct entry *entry = place && !known ? seek_index_set_entry(seek_indexes, stamp, 0) : NULL;
	if (entry)
		entry->reason = (uint8_t)reason;
	if (entry && seek_index_set_keep(seek_indexes, place, old, entry))
		atomic_fetch_add_explicit(&seek_indexes->account->refused[reason], 1,
					  memory_order_relaxed);
}

int seek_index_set_verdict(struct seek_index_set *seek_indexes, uint64_t sample,
			   const struct stamp *stamp, uint64_t *bytes_out)
{
	_Atomic(struct entry *) *place = seek_index_set_place(seek_indexes, sample);
	const struct entry *entry = place ? atomic_load(place) : NULL;
	*bytes_out = 0;
	if (!entry || !stamp_equal(&entry->stamp, stamp))
		return SEEK_INDEX_REASONS;
	*bytes_out = entry->size;
	return entry->reason;
}

uint64_t seek_index_set_changes(const struct seek_index_set *seek_indexes)
{
	return atomic_load(&seek_indexes->changes);
}

int seek_index_set_each(const struct seek_index_set *seek_indexes, seek_index_set_visit *each,
			void *context)
{
	struct buffer copy = BUFFER_NULL;
	int r = 0;
	for (uint64_t sample = 0; sample < seek_indexes->samples && r == 0; sample++) {
		const struct page *page = atomic_load(&seek_indexes->pages[sample / PAGE_SAMPLES]);
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
