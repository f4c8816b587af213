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
#include "base/philox.h"
#include "loop/os/tray.h"

struct core;
struct job;
struct outbox;

#define CODE_SECRET 16			    /* bytes */
#define CODE_IDENTITY 65		    /* with its end */
#define CODE_RECORD_MAX ((uint64_t)1 << 40) /* bytes: more than any tray has */
#define CODE_NAME 64			    /* for people */
#define GROUP_SAMPLES 32
#define GROUP_AREAS 4 /* of a tray: two lent, two that workers copy from ... */
#define GROUP_AREAS_LARGE 2
#define PRODUCER_LARGE ((size_t)16 << 20) /* ... fewer, if they are larger than this */

struct code {
	struct core *core;
	struct list link; /* in core->codes */
	uid_t uid;
	char identity[CODE_IDENTITY];
	uint8_t secret[CODE_SECRET];
	struct list producers;
	struct job *waiting, **waiting_end; /* chains, in the order in which they were wanted */
	struct job *alone;  /* ... that failed once, and go in groups of their own */
	struct job *again;  /* ... that are made a second time, to compare */
	struct job *failed; /* ... that are bad, until the next step */
	uint64_t largest;   /* bytes of the largest record that was made ... */
	uint64_t picture;   /* ... and of the largest picture that it got, at a Map */
	uint64_t sample_ns; /* what a sample takes: moving average */
	uint64_t check;	    /* of a million samples so many are made twice */
	bool differs;	    /* it made one otherwise the second time ... */
	uint64_t differing; /* ... this one of the dataset, the first that was seen */
	unsigned users;	    /* datasets, streams, producers: the last one out frees it */
};

struct group {
	uint64_t number; /* 0: FREE */
	struct job *job[GROUP_SAMPLES];
	bool answered[GROUP_SAMPLES];
	unsigned count, unanswered, copying;
	uint64_t taken;	   /* of its area: by pictures, which its samples are made of */
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
	unsigned areas; /* of the tray */
	struct group group[GROUP_AREAS];
	uint64_t made, failed;	     /* samples */
	uint64_t checked, differing; /* ... that it made a second time; that came out otherwise */
	uint64_t own_deadline_ms;    /* of a sample; 0: the daemon's */
	bool first_made;	     /* it answered once */
};

/* The code of these, found or made; held. NULL: no memory. */
struct code *code_get(struct core *core, uid_t uid, const char *identity,
		      const uint8_t secret[CODE_SECRET]);
void code_put(struct code *code);
/* The chains that wait: at the end of them all, or of those that go alone; and the next. */
void code_push(struct code *code, struct job *job);
void code_push_alone(struct code *code, struct job *job);
void code_push_again(struct code *code, struct job *job);
/* NULL: none that this producer may make: a second time somebody else does, if there is another. */
struct job *code_next(const struct code *code, const struct producer *producer);
struct job *code_pop(struct code *code, const struct producer *producer);
/* Is what is wanted at this place to be made twice? Depends on its seed, epoch and position. */
bool code_checks(const struct code *code, const struct draw_key *place);

/* 0 or a negative errno; holds `code`. */
int producer_new(struct producer **out, struct code *code, struct outbox *outbox, pid_t pid,
		 size_t area_bytes);
/* The group that it is at: they are made in the order of their numbers. NULL: none. */
const struct group *producer_at(const struct producer *producer);
/* Make it another tray, while no group is lent or copied from. 0 or a negative errno: it keeps the
 * one it has. */
int producer_grow(struct producer *producer, size_t area_bytes);
/* Bytes of a tray of such areas. */
size_t producer_tray_bytes(size_t area_bytes);
/* Longest time that a sample may take. */
uint64_t producer_deadline_ms(const struct producer *producer);
bool producer_is_idle(const struct producer *producer);
/* Frees it, if its client is gone and no worker copies from its tray. */
void producer_free_if_unused(struct producer *producer);

static inline uint64_t producer_area(const struct producer *producer)
{
	return producer->tray.bytes / producer->areas;
}

#endif
