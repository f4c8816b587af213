/* SPDX-License-Identifier: MIT */
/*
 * A parcel: jobs that one worker took from the pool's queue at a time, because each is small. They
 * stay to be had: a worker that has nothing else to do claims one from another's parcel, so that a
 * slow image holds up itself and none of those behind it. No lock.
 */
#ifndef STOKER_WORK_PARCEL_H
#define STOKER_WORK_PARCEL_H

#include <stdatomic.h>
#include <stdint.h>

struct job;

#define PARCEL_MAX 64

struct parcel {
	/* Number of this filling << 32 | jobs claimed << 16 | jobs put in. */
	_Atomic uint64_t state;
	_Atomic(struct job *) jobs[PARCEL_MAX];
};

/* Put `count` jobs in, 1 to PARCEL_MAX. The owner's thread, and only when all are claimed. */
void parcel_fill(struct parcel *parcel, struct job *const *jobs, unsigned count);
/* Take the next job; NULL when there is none. Any thread. */
struct job *parcel_claim(struct parcel *parcel);

#endif
