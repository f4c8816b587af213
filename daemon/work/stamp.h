/* SPDX-License-Identifier: MIT */
/* What tells a file's content at one time from its content at another, short of reading it. */
#ifndef STOKER_WORK_STAMP_H
#define STOKER_WORK_STAMP_H

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

#endif
