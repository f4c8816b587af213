/* SPDX-License-Identifier: MIT */
/*
 * Heap of what is kept, the least worth keeping first: binary, O(log n) for each change. What saves
 * less time for its memory (`worth`) goes first, and among equals what is needed last. Pure; one
 * thread at a time.
 */
#ifndef STOKER_CACHE_VICTIMS_H
#define STOKER_CACHE_VICTIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct victim {
	unsigned worth;
	uint64_t next_ns; /* when it is needed */
	size_t at;	  /* the heap's; VICTIM_NOWHERE: it is not in one */
};
#define VICTIM_NOWHERE SIZE_MAX

struct victims {
	struct victim **heap;
	size_t count, room;
};
#define VICTIMS_NULL ((struct victims){0})

int victims_add(struct victims *victims, struct victim *victim);     /* 0 or -ENOMEM */
void victims_remove(struct victims *victims, struct victim *victim); /* if it is there */
void victims_move(struct victims *victims, struct victim *victim, uint64_t next_ns);
struct victim *victims_first(const struct victims *victims); /* NULL: there is none */
void victims_deinit(struct victims *victims);

/* Trial eviction: candidates one after the other; each is out of its heap until the trial ends. */
#define VICTIMS_TRIED_MAX 1024
struct victims_trial {
	unsigned count;
	struct victims *from[VICTIMS_TRIED_MAX];
	struct victim *victim[VICTIMS_TRIED_MAX];
};
/* False: there are too many. */
bool victims_try(struct victims_trial *trial, struct victims *victims, struct victim *victim);
void victims_try_end(struct victims_trial *trial); /* all are back */

#endif
