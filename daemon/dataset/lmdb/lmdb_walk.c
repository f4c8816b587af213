// SPDX-License-Identifier: MIT
#include "dataset/lmdb/lmdb_walk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((uint64_t)1 << 40) /* bytes of pages, as of any shard */

static int walk_bad(const char *what, uint64_t page, struct fault *fault)
{
	return fault_say(fault, LMDB_E_BAD,
			 "it is damaged: %s (page %" PRIu64 "): write the database again", what,
			 page);
}

static int walk_read_meta(const struct lmdb_walk *walk, struct lmdb_meta *out, uint64_t offset,
			  uint64_t number, struct fault *fault)
{
	const uint8_t *page = NULL;
	int result = walk->fetch(walk->context, offset, LMDB_META_SIZE, &page, fault);
	return result ? result : lmdb_meta_parse(out, page, number, fault);
}

int lmdb_walk_look(struct lmdb_walk *walk, lmdb_fetch *fetch, void *context, uint64_t size,
		   uint64_t *memory_out, struct fault *fault)
{
	struct lmdb_meta first, second;
	*walk = (struct lmdb_walk){.fetch = fetch, .context = context};
	if (size < LMDB_META_SIZE)
		return fault_say(fault, LMDB_E_BAD,
				 "it is too short for an LMDB database: copy it again");
	int result = walk_read_meta(walk, &first, 0, 0, fault);
	if (result)
		return result;
	if (size / first.page_size < 2)
		return fault_say(fault, LMDB_E_BAD,
				 "the file is shorter than its pages: it was cut");
	result = walk_read_meta(walk, &second, first.page_size, 1, fault);
	if (result)
		return result;
	if (second.page_size != first.page_size)
		return walk_bad("its two heads differ", 1, fault);
	walk->meta = second.transaction > first.transaction ? second : first;
	if (walk->meta.pages > size / walk->meta.page_size)
		return fault_say(fault, LMDB_E_BAD,
				 "the file is shorter than its pages: it was cut");
	if (walk->meta.pages > FILE_MAX / walk->meta.page_size)
		return fault_say(fault, LMDB_E_BAD,
				 "it is larger than 1 TiB: split it into several");
	*memory_out = walk->meta.pages / 8 + 1 + (uint64_t)LMDB_DEPTH_MAX * walk->meta.page_size;
	return 0;
}

/* Note that these pages are used; they lie within the file, and nobody used them before. */
static int walk_use(struct lmdb_walk *walk, uint64_t first, uint64_t count, struct fault *fault)
{
	if (first < 2 || first >= walk->meta.pages || count > walk->meta.pages - first)
		return walk_bad("a page or a value lies outside of the file", first, fault);
	for (uint64_t page = first; page < first + count; page++) {
		uint8_t *bits = &walk->seen[page / 8], bit = (uint8_t)(1u << page % 8);
		if (*bits & bit)
			return walk_bad("it is used twice", page, fault);
		*bits |= bit;
	}
	return 0;
}

static uint8_t *walk_page(const struct lmdb_walk *walk, unsigned level)
{
	return walk->pages + (size_t)level * walk->meta.page_size;
}

/* Go down to a page, which becomes the last level. */
static int walk_enter(struct lmdb_walk *walk, uint64_t number, struct fault *fault)
{
	const uint8_t *page = NULL;
	uint32_t size = walk->meta.page_size;
	if (walk->depth == LMDB_DEPTH_MAX)
		return walk_bad("its tree is too deep", number, fault);
	struct lmdb_level *level = &walk->levels[walk->depth];
	int result = walk_use(walk, number, 1, fault);
	if (!result)
		result = walk->fetch(walk->context, number * size, size, &page, fault);
	if (result)
		return result;
	memcpy(walk_page(walk, walk->depth), page, size);
	level->at = 0;
	result = lmdb_page_check(walk_page(walk, walk->depth), size, number, &level->count,
				 &level->branch, fault);
	if (!result)
		walk->depth++;
	return result;
}

int lmdb_walk_begin(struct lmdb_walk *walk, struct fault *fault)
{
	walk->seen = calloc(walk->meta.pages / 8 + 1, 1);
	walk->pages = calloc(LMDB_DEPTH_MAX, walk->meta.page_size);
	if (!walk->seen || !walk->pages)
		return -ENOMEM;
	return walk->meta.root == LMDB_NO_PAGE ? 0 : walk_enter(walk, walk->meta.root, fault);
}

/* Find the value of a node of the last level. */
static int walk_locate(struct lmdb_walk *walk, const struct lmdb_node *node, struct lmdb_item *out,
		       struct fault *fault)
{
	const uint8_t *page = walk_page(walk, walk->depth - 1);
	uint32_t size = walk->meta.page_size;
	uint64_t number = 0, first = 0;
	for (unsigned i = 0; i < 8; i++)
		number |= (uint64_t)page[i] << 8 * i;
	if (node->other)
		return fault_say(fault, LMDB_E_BAD,
				 "it has databases within, which are not looked into, or keys with "
				 "several values");
	*out = (struct lmdb_item){.key = node->key, .key_size = node->key_size, .size = node->size};
	if (!node->large) {
		out->offset = number * size + node->at;
		return 0;
	}
	for (unsigned i = 0; i < 8; i++)
		first |= (uint64_t)page[node->at + i] << 8 * i;
	uint64_t bytes = LMDB_PAGE_HEAD + (uint64_t)node->size;
	int result = walk_use(walk, first, (bytes + size - 1) / size, fault);
	if (!result)
		out->offset = first * size + LMDB_PAGE_HEAD;
	return result;
}

int lmdb_walk_next(struct lmdb_walk *walk, struct lmdb_item *out, struct fault *fault)
{
	while (walk->depth) {
		struct lmdb_level *level = &walk->levels[walk->depth - 1];
		if (level->at == level->count) {
			walk->depth--;
			continue;
		}
		const struct lmdb_node node = lmdb_page_node(walk_page(walk, walk->depth - 1),
							     level->branch, level->at++);
		int result = level->branch ? walk_enter(walk, node.below, fault)
					   : walk_locate(walk, &node, out, fault);
		if (result)
			return result;
		if (!level->branch && walk->found++ < walk->meta.entries)
			return 0;
		if (!level->branch)
			break;
	}
	if (walk->found == walk->meta.entries)
		return LMDB_DONE;
	return fault_say(fault, LMDB_E_BAD,
			 "it is damaged: it has other than the %" PRIu64 " keys that it says",
			 walk->meta.entries);
}

void lmdb_walk_deinit(struct lmdb_walk *walk)
{
	free(walk->seen);
	free(walk->pages);
	*walk = LMDB_WALK_NULL;
}
