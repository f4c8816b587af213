/* SPDX-License-Identifier: MIT */
/*
 * Memory that a library takes in many pieces while it decodes one image, and that is given back all
 * at once: no malloc an image, once a worker has seen images of the kind. What was taken stays with
 * the arena for the next image, up to ARENA_KEEP bytes: one huge file is no habit. One owner at a
 * time; a worker's thread. Knows no library.
 */
#ifndef STOKER_BASE_ARENA_H
#define STOKER_BASE_ARENA_H

#include <stddef.h>

#define ARENA_ALIGN 64
#define ARENA_KEEP ((size_t)16 << 20)

struct arena_block;

struct arena {
	struct arena_block *blocks; /* the newest first, and only it has room */
	size_t taken;		    /* bytes since the last reset, with their padding */
};
#define ARENA_NULL ((struct arena){0})

/* `size` bytes, ARENA_ALIGN-aligned, not cleared, and ARENA_ALIGN readable ones behind them; NULL
 * if there is no memory. */
void *arena_take(struct arena *arena, size_t size);
/* The same for what has to grow: `old` (NULL, or `old_size` bytes taken before) is copied, or grows
 * where it is. */
void *arena_grow(struct arena *arena, void *old, size_t old_size, size_t size);
/* A piece that is not needed any more: free again at once if it was the last one taken. */
void arena_give(struct arena *arena, void *piece, size_t size);
/* All that was taken is free again. */
void arena_reset(struct arena *arena);
void arena_deinit(struct arena *arena); /* may be called twice, and on ARENA_NULL */

#endif
