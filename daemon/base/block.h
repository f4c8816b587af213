/* SPDX-License-Identifier: MIT */
/*
 * A block: memory of one piece for buffers and arenas. A large one is mapped by itself, so it goes
 * back to the system when it is freed, wherever it lay. In malloc's heaps large pieces of all sizes
 * that come and go leave holes: after some minutes four fifths of what those held was holes. Any
 * thread.
 */
#ifndef STOKER_BASE_BLOCK_H
#define STOKER_BASE_BLOCK_H

#include <stddef.h>

#define BLOCK_ALIGN 64
#define BLOCK_MAPPED ((size_t)256 << 10) /* from here on a block is mapped */

/* `size` bytes, a multiple of BLOCK_ALIGN, not cleared, of which `used` will be written soon. NULL
 * if there is no memory. */
void *block_new(size_t size, size_t used);
/* `size` as it was made. NULL will do. */
void block_free(void *block, size_t size);

#endif
