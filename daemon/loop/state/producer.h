/* SPDX-License-Identifier: MIT */
/*
 * A user's code: the producers that run it, and the samples that wait for one. Found by user,
 * identity and secret, which readers and producers show alike. Loop thread; knows no message.
 *
 * A producer has samples in groups. A group has a part of the producer's tray, its *area*, from the
 * WORK that lends it until workers have copied all that was made there:
 *
 *   FREE --lent--> LENT --all answered--> COPYING --all copied--> FREE
 */
#ifndef STOKER_LOOP_STATE_PRODUCER_H
#define STOKER_LOOP_STATE_PRODUCER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "loop/os/tray.h"

struct core;
struct job;
struct outbox;

#define CODE_SECRET 16	 /* bytes */
#define CODE_IDENTITY 65 /* with its end */
#define CODE_NAME 64	 /* for people */
#define GROUP_SAMPLES 32
#define GROUP_AREAS 4 /* of a tray: two lent, two that workers copy from */

struct code {
	struct core *core;
	struct list link; /* in core->codes */
	uid_t uid;
	char identity[CODE_IDENTITY];
	uint8_t secret[CODE_SECRET];
	struct list producers;
	struct job *waiting, **waiting_end; /* chains, in the order in which they were wanted */
	struct job *alone;  /* ... that failed once, and go in groups of their own */
	struct job *failed; /* ... that are bad, until the next step */
	uint64_t largest;   /* bytes of the largest record that was made */
	uint64_t sample_ns; /* what a sample takes: moving average */
	unsigned users;	    /* datasets and producers: the last one out frees it */
};

struct group {
	uint64_t number; /* 0: FREE */
	struct job *job[GROUP_SAMPLES];
	bool answered[GROUP_SAMPLES];
	unsigned count, unanswered, copying;
	uint64_t since_ns; /* when it was lent, or the last of its samples answered */
};

struct producer {
	uint64_t id;
	struct code *code;
	struct list in_code; /* empty once its client is gone */
	struct outbox *outbox;
	pid_t pid;
	char name[CODE_NAME];
	struct tray tray;
	struct group group[GROUP_AREAS];
	uint64_t made, failed; /* samples */
	bool first_made;       /* it answered once */
};

/* The code of these, found or made; held. NULL: no memory. */
struct code *code_get(struct core *core, uid_t uid, const char *identity,
		      const uint8_t secret[CODE_SECRET]);
void code_put(struct code *code);

/* 0 or a negative errno; holds `code`. */
int producer_new(struct producer **out, struct code *code, struct outbox *outbox, pid_t pid,
		 size_t area_bytes);
/* The group that it is at: they are made in the order of their numbers. NULL: none. */
const struct group *producer_at(const struct producer *producer);
/* Frees it, if its client is gone and no worker copies from its tray. */
void producer_free_if_unused(struct producer *producer);

static inline uint64_t producer_area(const struct producer *producer)
{
	return producer->tray.bytes / GROUP_AREAS;
}

#endif
