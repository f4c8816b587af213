// SPDX-License-Identifier: MIT
#include "decode/arena.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/block.h"

#define BLOCK_LEAST ((size_t)256 << 10)

struct arena_block {
	struct arena_block *older;
	size_t room, used; /* of `bytes` */
	alignas(ARENA_ALIGN) uint8_t bytes[];
};

static size_t arena_whole(size_t size)
{
	return ((size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1)) + ARENA_ALIGN;
}

/* Add a block with room for `room` bytes at least. */
static struct arena_block *arena_add(struct arena *arena, size_t room)
{
	if (room < BLOCK_LEAST)
		room = BLOCK_LEAST;
	struct arena_block *block = block_new(sizeof(*block) + room, sizeof(*block) + room);
	if (!block)
		return NULL;
	block->older = arena->blocks;
	block->room = room;
	block->used = 0;
	arena->blocks = block;
	return block;
}

void *arena_take(struct arena *arena, size_t size)
{
	struct arena_block *block = arena->blocks;
	if (size > SIZE_MAX / 2)
		return NULL;
	size_t whole = arena_whole(size);
	if (!block || block->room - block->used < whole)
		block = arena_add(arena, whole);
	if (!block)
		return NULL;
	void *piece = block->bytes + block->used;
	block->used += whole;
	arena->taken += whole;
	return piece;
}

/* Check that nothing was taken after this piece. */
static bool arena_is_last(const struct arena *arena, const void *piece, size_t size)
{
	const struct arena_block *block = arena->blocks;
	return block && piece && block->used >= arena_whole(size) &&
	       piece == block->bytes + block->used - arena_whole(size);
}

void arena_give(struct arena *arena, void *piece, size_t size)
{
	if (!arena_is_last(arena, piece, size))
		return;
	arena->blocks->used -= arena_whole(size);
	arena->taken -= arena_whole(size);
}

void *arena_grow(struct arena *arena, void *old, size_t old_size, size_t size)
{
	if (size <= old_size)
		return old;
	arena_give(arena, old, old_size);
	void *piece = arena_take(arena, size);
	if (piece && old && piece != old)
		memcpy(piece, old, old_size);
	return piece;
}

/* If several blocks were needed, replace them by one of their size. */
void arena_reset(struct arena *arena)
{
	struct arena_block *block = arena->blocks;
	size_t taken = arena->taken;
	arena->taken = 0;
	if (block && !block->older && block->room <= ARENA_KEEP) {
		block->used = 0;
		return;
	}
	arena_deinit(arena);
	if (taken > 0 && taken <= ARENA_KEEP)
		arena_add(arena, taken); /* if it fails: arena_take() tries again */
}

void arena_deinit(struct arena *arena)
{
	while (arena->blocks) {
		struct arena_block *older = arena->blocks->older;
		block_free(arena->blocks, sizeof(struct arena_block) + arena->blocks->room);
		arena->blocks = older;
	}
	arena->taken = 0;
}
