/* SPDX-License-Identifier: MIT */
/*
 * A parcel: small jobs that one worker takes from the pool's queue at once, to take the lock less
 * often. An idle worker steals jobs from the parcels of others, so that a slow image does not delay
 * the jobs behind it. Lock-free.
 */
#ifndef STOKER_WORK_PARCEL_H
#define STOKER_WORK_PARCEL_H

#include <stdatomic.h>
#include <stdint.h>

struct job;

#define PARCEL_MAX 64

struct parcel {
	/* How often it was filled << 32 | jobs claimed << 16 | jobs put in. */
	_Atomic uint64_t state;
	_Atomic(struct job *) jobs[PARCEL_MAX];
};

/* Put in `count` jobs, 1 to PARCEL_MAX. The owner's thread only, and only when all are claimed. */
void parcel_fill(struct parcel *parcel, struct job *const *jobs, unsigned count);
/* Take the next job; NULL when there is none. Any thread. */
struct job *parcel_claim(struct parcel *parcel);

#endif
