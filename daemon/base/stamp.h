/* SPDX-License-Identifier: MIT */
/* What tells a file's content at one time from its content at another, short of reading it. */
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

/* The same in a number that is not 0, for who has to remember many. */
static inline uint64_t stamp_mark(const struct stamp *stamp)
{
	const uint64_t parts[] = {stamp->size, (uint64_t)stamp->mtime_ns, stamp->inode};
	uint64_t mark = 0;
	for (unsigned i = 0; i < 3; i++) {
		mark = (mark ^ parts[i]) * 0x9E3779B97F4A7C15u; /* odd: nothing is lost */
		mark ^= mark >> 32;
	}
	return mark ? mark : 1;
}

#endif
