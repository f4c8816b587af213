/* SPDX-License-Identifier: MIT */
/*
 * Groups: what a producer has of its code's samples, and where in its tray. At the beginning of a
 * group's area stand the pictures that its samples are made of, at a Map; the rest is for what the
 * producer makes. Loop thread.
 */
#ifndef STOKER_LOOP_ENGINE_GROUP_H
#define STOKER_LOOP_ENGINE_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

struct code;
struct group;
struct producer;

/* Find the group of this number that has samples to be answered; NULL: there is none. */
struct group *group_find(struct producer *producer, uint64_t number);
/* Tell where its records may lie in the tray. */
void group_room(const struct producer *producer, const struct group *group, uint64_t *begin_out,
		uint64_t *bytes_out);
/* Make it FREE if all of it is answered and copied. May free the producer. */
void group_end_if_done(struct producer *producer, struct group *group);

enum {
	GROUP_E_NONE = 1, /* nothing waits, or the producer has as much as it may */
	GROUP_E_LARGE,	  /* there is no memory for a tray that the next sample fits into */
};
/* Lend the producer a group of what waits. 0, GROUP_E_NONE or, with words, GROUP_E_LARGE. */
int group_lend(struct producer *producer, uint64_t now_ns, struct fault *fault);
/* Number of samples that take as long as a group is to take. */
unsigned group_samples(const struct code *code);

/* Tell it which tray it has: the answer to PRODUCE `seq`, or 0: another one. */
void group_show_tray(struct producer *producer, uint64_t seq);

#endif
