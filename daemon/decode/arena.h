/* SPDX-License-Identifier: MIT */
/*
 * An arena: memory that a library allocates in many pieces while it decodes one image, and that is
 * freed at once. The memory stays with the arena for the next image, up to ARENA_KEEP bytes, so
 * after some images there is no malloc any more. One owner at a time; a worker's thread. Knows no
 * library.
 */
#ifndef STOKER_DECODE_ARENA_H
#define STOKER_DECODE_ARENA_H

#include <stddef.h>

#define ARENA_ALIGN 64
#define ARENA_KEEP ((size_t)16 << 20)

struct arena_block;

struct arena {
	struct arena_block *blocks; /* the newest first; only that one has room */
	size_t taken;		    /* bytes since the last reset, padding included */
};
#define ARENA_NULL ((struct arena){0})

/* Allocate `size` bytes, aligned to ARENA_ALIGN, not cleared, with ARENA_ALIGN readable bytes after
 * them. NULL if there is no memory. */
void *arena_take(struct arena *arena, size_t size);
/* As realloc(): `old` is NULL or `old_size` bytes taken before. */
void *arena_grow(struct arena *arena, void *old, size_t old_size, size_t size);
/* As free(), but only the piece taken last becomes free before the reset. */
void arena_give(struct arena *arena, void *piece, size_t size);
/* Free all pieces. */
void arena_reset(struct arena *arena);
void arena_deinit(struct arena *arena); /* may be called twice, and on ARENA_NULL */

#endif
