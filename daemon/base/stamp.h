/* SPDX-License-Identifier: MIT */
/*
 * A stamp of a file: its size and a hash of its bytes under a secret (digest.h). What was learnt of
 * a file holds for every file of the same stamp, whatever its name, inode and times. Pure; any
 * thread. Knows no file system: who remembers the stamp of a file that has not changed is above.
 */
#ifndef STOKER_BASE_STAMP_H
#define STOKER_BASE_STAMP_H

#include <stdbool.h>
#include <stdint.h>

struct stamp {
	uint64_t size;
	uint64_t content;
};

static inline bool stamp_equal(const struct stamp *a, const struct stamp *b)
{
	return a->size == b->size && a->content == b->content;
}

/* The stamp as a number that is never 0, for tables of many files. */
static inline uint64_t stamp_mark(const struct stamp *stamp)
{
	uint64_t mark = (stamp->content ^ stamp->size) * 0x9E3779B97F4A7C15u; /* odd: a bijection */
	mark ^= mark >> 32;
	return mark ? mark : 1;
}

#endif
