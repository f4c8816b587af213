// SPDX-License-Identifier: MIT
#include "cache/page_stock.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define SPAN_BYTES ((size_t)256 << 20) /* of addresses: what is there moves through them */
#define STEP_BYTES ((size_t)1 << 20)   /* got at once, without the lock */
#define REST_S 1

void page_stock_init(struct page_stock *stock)
{
	*stock = (struct page_stock){.runs = false};
	atomic_init(&stock->room, 0);
	pthread_condattr_t clock;
	pthread_condattr_init(&clock); /* none of these can fail on Linux */
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_mutex_init(&stock->lock, NULL);
	pthread_cond_init(&stock->changed, &clock);
	pthread_condattr_destroy(&clock);
}

void page_stock_deinit(struct page_stock *stock)
{
	pthread_mutex_lock(&stock->lock);
	stock->ends = true;
	pthread_cond_signal(&stock->changed);
	pthread_mutex_unlock(&stock->lock);
	if (stock->runs)
		pthread_join(stock->thread, NULL);
	pthread_cond_destroy(&stock->changed);
	pthread_mutex_destroy(&stock->lock);
}

/* --- with the lock --- */

/* Free the pages that nobody took. */
static void stock_drop(struct page_stock *stock)
{
	/* To unmap splits a mapping, and the system has a limit of mappings. */
	if (stock->memory && munmap(stock->memory + stock->taken, SPAN_BYTES - stock->taken) < 0)
		madvise(stock->memory + stock->taken, SPAN_BYTES - stock->taken, MADV_DONTNEED);
	stock->memory = NULL;
	stock->taken = stock->filled = 0;
}

static bool stock_has_room(const struct page_stock *stock)
{
	return atomic_load(&stock->room) / 2 >= PAGE_STOCK_BYTES;
}

/* The system is out of memory for it, or too old. */
static void stock_give_up(struct page_stock *stock)
{
	stock_drop(stock);
	atomic_store(&stock->room, 0);
}

/* Check that its addresses are used up, or that it has none yet. */
static bool stock_is_spent(const struct page_stock *stock)
{
	return !stock->memory || stock->filled == SPAN_BYTES;
}

static bool stock_is_low(const struct page_stock *stock)
{
	return !stock_is_spent(stock) && stock->filled - stock->taken < PAGE_STOCK_BYTES;
}

static void stock_begin(struct page_stock *stock)
{
	void *memory = mmap(NULL, SPAN_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	stock_drop(stock);
	stock->lacking = false;
	if (memory == MAP_FAILED)
		stock_give_up(stock);
	else
		stock->memory = memory;
}

/* Get a step more. What is behind `filled` is nobody's but this thread's. */
static void stock_fill(struct page_stock *stock)
{
	uint8_t *at = stock->memory + stock->filled;
	pthread_mutex_unlock(&stock->lock);
	int r = madvise(at, STEP_BYTES, MADV_POPULATE_WRITE);
	pthread_mutex_lock(&stock->lock);
	stock->lacking = false;
	if (r < 0)
		stock_give_up(stock);
	else
		stock->filled += STEP_BYTES;
}

/* False: nobody took any for a while. */
static bool stock_wait(struct page_stock *stock)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += REST_S;
	if (!stock->memory)
		return pthread_cond_wait(&stock->changed, &stock->lock) == 0;
	return pthread_cond_timedwait(&stock->changed, &stock->lock, &until) != ETIMEDOUT;
}

/* --- the thread --- */

static void *stock_run(void *argument)
{
	struct page_stock *stock = argument;
	pthread_setname_np(pthread_self(), "pages");
	pthread_mutex_lock(&stock->lock);
	while (!stock->ends) {
		if (!stock_has_room(stock))
			stock_drop(stock);
		else if (stock->lacking && stock_is_spent(stock))
			stock_begin(stock);
		else if (stock_is_low(stock))
			stock_fill(stock);
		if (!stock_is_low(stock) && !stock_wait(stock))
			stock_drop(stock);
	}
	stock_drop(stock);
	pthread_mutex_unlock(&stock->lock);
	return NULL;
}

/* With the lock. */
static void stock_start(struct page_stock *stock)
{
	/* A worker's thread begins it, so it has the workers' niceness. While it gets pages the
	 * process's mappings are locked: a nicer one would make all others wait for a processor
	 * with it, the loop as well. Only the loop thread receives signals. */
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	stock->runs = pthread_create(&stock->thread, NULL, stock_run, stock) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void *page_stock_take(struct page_stock *stock, size_t size, uint64_t room)
{
	uint8_t *memory = NULL;
	atomic_store(&stock->room, room);
	/* Who holds the lock may be its thread, which waits for a processor. */
	if (!stock_has_room(stock) || pthread_mutex_trylock(&stock->lock))
		return NULL;
	if (stock->filled - stock->taken >= size) {
		memory = stock->memory + stock->taken;
		stock->taken += size;
	} else if (size <= PAGE_STOCK_BYTES) {
		stock->lacking = true;
	}
	if (!stock->runs)
		stock_start(stock);
	pthread_cond_signal(&stock->changed);
	pthread_mutex_unlock(&stock->lock);
	return memory;
}

void *page_stock_get(struct page_stock *stock, size_t size, uint64_t room)
{
	void *memory = page_stock_take(stock, size, room);
	if (memory)
		return memory;
	/* Populated at once: page faults would cost half as much again. */
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

void page_stock_note(struct page_stock *stock, uint64_t room)
{
	atomic_store(&stock->room, room);
	if (!stock_has_room(stock))
		pthread_cond_signal(&stock->changed);
}
