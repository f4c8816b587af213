/* SPDX-License-Identifier: MIT */
/*
 * A stamp of a file: size, modification time and inode, to notice that its content has changed
 * without reading it. Pure; any thread. Knows no file system.
 */
#ifndef STOKER_BASE_STAMP_H
#define STOKER_BASE_STAMP_H

#include <stdbool.h>
#include <stdint.h>

struct stamp {
	uint64_t size;
	int64_t mtime_ns;
	uint64_t inode;
};

static inline bool stamp_equal(const struct stamp *a, const struct stamp *b)
{
	return a->size == b->size && a->mtime_ns == b->mtime_ns && a->inode == b->inode;
}

/* A hash of the stamp that is never 0, for tables of many files. */
static inline uint64_t stamp_mark(const struct stamp *stamp)
{
	const uint64_t parts[] = {stamp->size, (uint64_t)stamp->mtime_ns, stamp->inode};
	uint64_t mark = 0;
	for (unsigned i = 0; i < 3; i++) {
		mark = (mark ^ parts[i]) * 0x9E3779B97F4A7C15u; /* odd: a bijection */
		mark ^= mark >> 32;
	}
	return mark ? mark : 1;
}

#endif
