// SPDX-License-Identifier: MIT
#include "work/scans.h"

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
	uint8_t reason; /* ... and why: SCAN_E_... */
	atomic_bool growing;
	_Alignas(8) uint8_t bytes[];
};

struct page {
	_Atomic(struct entry *) entries[PAGE_SAMPLES];
};

struct scans {
	struct scans_account *account;
	uint64_t samples;
	_Atomic uint64_t charged, changes;
	_Atomic(struct entry *) replaced; /* a reader may still hold one: kept until the end */
	_Atomic(struct page *) pages[];
};

static uint64_t scans_pages(uint64_t samples)
{
	return (samples + PAGE_SAMPLES - 1) / PAGE_SAMPLES;
}

int scans_new(struct scans **out, struct scans_account *account, uint64_t samples)
{
	uint64_t pages = scans_pages(samples);
	if (pages > (SIZE_MAX - sizeof(struct scans)) / sizeof(struct page *))
		return -ENOMEM;
	struct scans *scans = calloc(1, sizeof(*scans) + pages * sizeof(struct page *));
	if (!scans)
		return -ENOMEM;
	scans->account = account;
	scans->samples = samples;
	*out = scans;
	return 0;
}

void scans_free(struct scans *scans)
{
	if (!scans)
		return;
	for (uint64_t i = 0; i < scans_pages(scans->samples); i++) {
		struct page *page = atomic_load(&scans->pages[i]);
		for (unsigned k = 0; page && k < PAGE_SAMPLES; k++)
			free(atomic_load(&page->entries[k]));
		free(page);
	}
	for (struct entry *entry = atomic_load(&scans->replaced); entry;) {
		struct entry *next = entry->next;
		free(entry);
		entry = next;
	}
	atomic_fetch_sub(&scans->account->bytes, atomic_load(&scans->charged));
	free(scans);
}

/* Memory within the budget, zero; NULL if there is none. */
static void *scans_take(struct scans *scans, size_t size)
{
	struct scans_account *account = scans->account;
	if (atomic_fetch_add(&account->bytes, size) + size > account->limit) {
		atomic_fetch_sub(&account->bytes, size);
		return NULL;
	}
	void *memory = calloc(1, size);
	if (memory)
		atomic_fetch_add(&scans->charged, size);
	else
		atomic_fetch_sub(&account->bytes, size);
	return memory;
}

static void scans_give(struct scans *scans, void *memory, size_t size)
{
	free(memory);
	atomic_fetch_sub(&scans->charged, size);
	atomic_fetch_sub(&scans->account->bytes, size);
}

static _Atomic(struct entry *) *scans_place(struct scans *scans, uint64_t sample)
{
	assert(sample < scans->samples);
	_Atomic(struct page *) *at = &scans->pages[sample / PAGE_SAMPLES];
	struct page *page = atomic_load(at);
	if (!page) {
		struct page *fresh = scans_take(scans, sizeof(*fresh));
		if (!fresh)
			return NULL;
		if (atomic_compare_exchange_strong(at, &page, fresh))
			page = fresh;
		else
			scans_give(scans, fresh, sizeof(*fresh));
	}
	return &page->entries[sample % PAGE_SAMPLES];
}

enum scans_answer scans_find(struct scans *scans, uint64_t sample, const struct stamp *stamp,
			     const uint8_t **bytes_out, size_t *size_out)
{
	struct scans_account *account = scans->account;
	_Atomic(struct entry *) *place = scans_place(scans, sample);
	struct entry *entry = place ? atomic_load(place) : NULL;
	if (entry && stamp_equal(&entry->stamp, stamp)) {
		if (entry->size == 0)
			return SCANS_NEVER;
		*bytes_out = entry->bytes;
		*size_out = entry->size;
		atomic_fetch_add_explicit(&account->used, 1, memory_order_relaxed);
		return SCANS_INDEX;
	}
	/* Nothing is built that could not be kept: an index of a photograph has 1 or 2 KB. */
	if (place && atomic_load(&account->bytes) + 1024 < account->limit)
		return SCANS_NONE;
	atomic_fetch_add_explicit(&account->full, 1, memory_order_relaxed);
	return SCANS_NEVER;
}

/* Only one thread makes an index grow at a time; what another one has learnt meanwhile is dropped.
 */
static void scans_grow(struct scans *scans, struct entry *entry, const uint8_t *index)
{
	if (entry->size == 0 || atomic_exchange(&entry->growing, true))
		return;
	scan_index_grow(entry->bytes, index);
	atomic_fetch_add_explicit(&scans->changes, 1, memory_order_relaxed);
	atomic_store(&entry->growing, false);
}

static struct entry *scans_entry(struct scans *scans, const struct stamp *stamp, size_t size)
{
	struct entry *entry = scans_take(scans, sizeof(*entry) + size);
	if (entry) {
		entry->stamp = *stamp;
		entry->size = (uint32_t)size;
	}
	return entry;
}

/* In place of `old`; false if that is not there any more. */
static bool scans_keep(struct scans *scans, _Atomic(struct entry *) *place, struct entry *old,
		       struct entry *entry)
{
	if (!atomic_compare_exchange_strong(place, &old, entry)) {
		scans_give(scans, entry, sizeof(*entry) + entry->size);
		return false;
	}
	if (old) {
		old->next = atomic_load(&scans->replaced);
		while (!atomic_compare_exchange_weak(&scans->replaced, &old->next, old))
			;
	}
	return true;
}

bool scans_load(struct scans *scans, uint64_t sample, const struct stamp *stamp,
		const uint8_t *bytes, size_t size)
{
	size_t whole = sample < scans->samples ? scan_index_size(bytes, size) : 0;
	_Atomic(struct entry *) *place = whole > 0 ? scans_place(scans, sample) : NULL;
	struct entry *old = place ? atomic_load(place) : NULL;
	if (old && stamp_equal(&old->stamp, stamp)) {
		scans_grow(scans, old, bytes);
		return false;
	}
	struct entry *entry = place ? scans_entry(scans, stamp, whole) : NULL;
	if (!entry)
		return false;
	scan_index_start(entry->bytes, bytes);
	return scans_keep(scans, place, old, entry);
}

bool scans_put(struct scans *scans, uint64_t sample, const struct stamp *stamp,
	       const uint8_t *bytes, size_t size)
{
	bool fresh = scans_load(scans, sample, stamp, bytes, size);
	if (fresh) {
		atomic_fetch_add_explicit(&scans->account->built, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&scans->changes, 1, memory_order_relaxed);
	}
	return fresh;
}

void scans_refuse(struct scans *scans, uint64_t sample, const struct stamp *stamp, int reason)
{
	assert(reason > 0 && reason < SCAN_REASONS);
	_Atomic(struct entry *) *place = scans_place(scans, sample);
	struct entry *old = place ? atomic_load(place) : NULL;
	bool known = old && old->size == 0 && stamp_equal(&old->stamp, stamp);
	struct entry *entry = place && !known ? scans_entry(scans, stamp, 0) : NULL;
	if (entry)
		entry->reason = (uint8_t)reason;
	if (entry && scans_keep(scans, place, old, entry))
		atomic_fetch_add_explicit(&scans->account->refused[reason], 1,
					  memory_order_relaxed);
}

int scans_verdict(struct scans *scans, uint64_t sample, const struct stamp *stamp,
		  uint64_t *bytes_out)
{
	_Atomic(struct entry *) *place = scans_place(scans, sample);
	const struct entry *entry = place ? atomic_load(place) : NULL;
	*bytes_out = 0;
	if (!entry || !stamp_equal(&entry->stamp, stamp))
		return SCAN_REASONS;
	*bytes_out = entry->size;
	return entry->reason;
}

uint64_t scans_changes(const struct scans *scans)
{
	return atomic_load(&scans->changes);
}

int scans_each(const struct scans *scans, scans_visit *each, void *context)
{
	struct buffer copy = BUFFER_NULL;
	int r = 0;
	for (uint64_t sample = 0; sample < scans->samples && r == 0; sample++) {
		const struct page *page = atomic_load(&scans->pages[sample / PAGE_SAMPLES]);
		const struct entry *entry =
			page ? atomic_load(&page->entries[sample % PAGE_SAMPLES]) : NULL;
		if (!entry || entry->size == 0)
			continue;
		r = scan_index_copy(&copy, entry->bytes);
		r = r ? r : each(context, sample, &entry->stamp, copy.data, copy.size);
	}
	buffer_deinit(&copy);
	return r;
}
