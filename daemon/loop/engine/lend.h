/* SPDX-License-Identifier: MIT */
/*
 * Lending: samples that a user's code makes go to its producers in groups, and come back as records
 * in a tray, for workers to copy and to go on with. A sample that waits for a producer, or is with
 * one, is in no count of the pool's, so that code that hangs keeps no other stream waiting. Loop
 * thread; knows no connection.
 *
 * A producer that dies, hangs or breaks the protocol loses its groups. Each sample that it had not
 * answered is lent once more, in a group of its own; only one that was alone when it failed again
 * is bad.
 */
#ifndef STOKER_LOOP_ENGINE_LEND_H
#define STOKER_LOOP_ENGINE_LEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

struct core;
struct flow;
struct job;
struct producer;
struct ring;
struct value;

/* A chain that came back from the pool since it needs a producer. */
void lend_take(struct core *core, struct job *job);
/* The chains that no producer can make, with their outcomes: a list, linked by `next`. They are in
 * no count but their flows' (flow_forgo()). */
struct job *lend_take_failed(struct core *core);
/* A chain came back from the pool; if workers copied its record, that part of a tray is free. */
void lend_copied(struct job *job);
/* Lend what waits, as far as there are producers with room. */
void lend_all(struct core *core);
/* Take out of what waits the chains in which a job is of this ring: a list, linked by `next`. Those
 * that are with producers come back by themselves. */
struct job *lend_cancel(const struct ring *ring);

/* Queue the rest of such a chain again. */
void lend_again(struct job *job, struct flow *flow);

/* A producer's MADE and FAILED. 0, or 1 with words: the message was wrong, and the producer is to
 * go. */
int lend_made(struct producer *producer, uint64_t group, const struct value *samples,
	      struct fault *fault);
int lend_failed(struct producer *producer, uint64_t group, uint64_t place, const char *text,
		uint64_t needed, struct fault *fault);
/* The producer is gone; `why` is what became of it. May free it. */
void lend_lose(struct producer *producer, const char *why);
/* The producer makes no more, and none of what it had was the cause. May free it. */
void lend_leave(struct producer *producer);
/* Tell whether as many of its jobs are under way as its Map should have ahead. */
bool lend_is_full(const struct ring *ring);
/* Age of its oldest sample, in ns. */
uint64_t lend_age_ns(const struct producer *producer, uint64_t now_ns);

#endif
