/* SPDX-License-Identifier: MIT */
/*
 * Kin: streams of the same samples in the same order that differ in transforms or draws, as in a
 * sweep over augmentations. What stands at a position is one picture for all of them, so that one
 * decode can serve all who want it at the same time; see struct job. The positions that echo one
 * sample are kin of each other in the same way. Loop thread; makes no job.
 */
#ifndef STOKER_LOOP_POLICY_DECODE_SHARING_H
#define STOKER_LOOP_POLICY_DECODE_SHARING_H

#include <stdbool.h>
#include <stdint.h>

#include "work/job.h"

struct ring;
struct stream;

/* A new stream finds its kin among the server's; stream->kin is its link in a ring without head. */
void kin_join(struct stream *stream);
void kin_leave(struct stream *stream);

/* A position of some ring where the same picture stands. */
struct sharer {
	struct ring *ring;
	uint64_t position;
};

/* Where else the picture of this position is wanted: where it is lacking, can be held now and has a
 * reader who wants it. In the ring itself (echo), and in those of the kin of its stream; at most
 * JOB_SHARERS_MAX - 1. How many. */
unsigned kin_find(struct ring *ring, uint64_t epoch, uint64_t position,
		  struct sharer out[JOB_SHARERS_MAX]);

/* Is one of these beyond the window of its ring, but so little that it is worth waiting for: what
 * one makes before the other has room for it, both make. */
bool kin_comes(struct ring *ring, uint64_t epoch, uint64_t position);

#endif
