/* SPDX-License-Identifier: MIT */
/*
 * A visit: an INDEX on its way, which looks at each file of a dataset once and leaves its scan's
 * index, with no slot and no pixels, and then has the store written to the disk. The pool does it
 * with what trainers leave over: while one of them is hungry one file of all visits at a time, else
 * as many as there are threads for. Owned by the session it is for; once that is gone it lives
 * until its jobs are back. Likewise a FIT (fit.h), whose jobs make the pictures to add up their
 * bytes. Loop thread.
 *
 *   dataset (catalog.c) -> each file -> disk (memo.c) -> REPORT
 */
#ifndef STOKER_LOOP_ENGINE_INDEX_TASK_H
#define STOKER_LOOP_ENGINE_INDEX_TASK_H

#include <stdbool.h>

struct job;
struct message_fit;
struct message_index;
struct server;
struct session;
struct visit;

/* Begin; the answer (REPORT or ERROR) comes later, or now. */
void visit_begin(struct session *session, const struct message_index *index);
void visit_begin_fit(struct session *session, const struct message_fit *message);
void visit_cancel(struct visit *visit); /* the peer left */
/* Tell who waits how far it is. */
void visit_progress(struct visit *visit);
void visit_stop(struct visit *visit); /* the daemon is about to stop */

/* Order one file, if that is due now; `idle`: no trainer is hungry. False if not. */
bool visit_order(struct server *server, bool idle);
bool visit_owns(const struct job *job);
void visit_take(struct server *server, struct job *job); /* it is back */

#endif
