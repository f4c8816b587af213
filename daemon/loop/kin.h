/* SPDX-License-Identifier: MIT */
/*
 * Kin: streams of the same samples in the same order that differ in transforms or draws, as in a
 * sweep over augmentations. What stands at a position is one picture for all of them, so that one
 * decode can serve all who want it at the same time; see struct job. Loop thread; knows no job.
 */
#ifndef STOKER_LOOP_KIN_H
#define STOKER_LOOP_KIN_H

#include <stdbool.h>
#include <stdint.h>

struct ring;
struct stream;

/* A new stream finds its kin among the server's; stream->kin is its link in a ring without head. */
void kin_join(struct stream *stream);
void kin_leave(struct stream *stream);

/* Rings of the kin of ring's stream that lack the same position, can hold it now and have a reader
 * who wants it; at most `max`. How many. */
unsigned kin_find(const struct ring *ring, uint64_t epoch, uint64_t position, struct ring **out,
		  unsigned max);

/* Is this position beyond the window of a kin ring, but so little that it is worth waiting for:
 * what one makes before the other has room for it, both make. */
bool kin_comes(const struct ring *ring, uint64_t epoch, uint64_t position);

#endif
