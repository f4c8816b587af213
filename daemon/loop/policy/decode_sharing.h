/* SPDX-License-Identifier: MIT */
/*
 * Decode sharing: where else the picture that is about to be decoded is wanted. Streams that share
 * decodes (state/stream.h) show one picture at a position; the positions of an epoch that echo one
 * sample show one picture, too. One decode can serve all of them (struct job), if the rings are one
 * user's: whoever orders the job pays for all that is made by it. Computes from state and changes
 * nothing. Loop thread; makes no job.
 */
#ifndef STOKER_LOOP_POLICY_DECODE_SHARING_H
#define STOKER_LOOP_POLICY_DECODE_SHARING_H

#include <stdbool.h>
#include <stdint.h>

#include "work/job.h"

struct ring;

/* A position of some ring that shows the picture. */
struct sharer {
	struct ring *ring;
	uint64_t position;
};

/* Find other slots that want the picture of this position: each is empty or the window can move to
 * it now, and a reader still needs it. At most JOB_SHARERS_MAX - 1; returns how many. */
unsigned decode_sharing_find(struct ring *ring, uint64_t epoch, uint64_t position,
			     struct sharer out[JOB_SHARERS_MAX]);

/* Is one of these so little beyond its ring's window that it is worth waiting for? What is decoded
 * for one ring before the other has room for it is decoded twice. */
bool decode_sharing_soon(const struct ring *ring, uint64_t epoch, uint64_t position);

#endif
