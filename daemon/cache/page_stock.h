/* SPDX-License-Identifier: MIT */
/*
 * Memory that the system has given already: mapped, zero, its pages there. To get the pages of a
 * picture takes a third of the time of a use that keeps it; here a thread of its own gets them
 * ahead, on a processor that is idle, or beside the workers. It keeps up to
 * PAGE_STOCK_BYTES while some is taken, and gives back what nobody takes for a second. Before
 * Linux 5.14 there never is any.
 *
 * Any thread may take; nobody waits for the stock's thread. Knows no picture and no budget: who
 * takes says how much room there is.
 */
#ifndef STOKER_CACHE_PAGE_STOCK_H
#define STOKER_CACHE_PAGE_STOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_STOCK_BYTES ((size_t)16 << 20)

struct page_stock {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* some was taken, or is lacking, or it ends */
	pthread_t thread;
	bool runs, ends;
	bool lacking;	       /* somebody took and got nothing */
	uint8_t *memory;       /* addresses, less what was taken */
	size_t taken, filled;  /* bytes of them, from the start */
	_Atomic uint64_t room; /* bytes that others leave, when somebody said so last */
};

void page_stock_init(struct page_stock *stock);
void page_stock_deinit(struct page_stock *stock);

/* `size` bytes, whole pages, which are there: the caller's from now on, who unmaps them. NULL: the
 * stock has not as much at present. `room` as in page_stock_note(). */
void *page_stock_take(struct page_stock *stock, size_t size, uint64_t room);
/* Get pages of the stock or, where it has not as many, of the system. NULL: that has none. */
void *page_stock_get(struct page_stock *stock, size_t size, uint64_t room);
/* There is room for so many bytes. The stock stays below half of that, and gives back what is above
 * soon. */
void page_stock_note(struct page_stock *stock, uint64_t room);

#endif
