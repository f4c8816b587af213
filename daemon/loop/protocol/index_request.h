/* SPDX-License-Identifier: MIT */
/*
 * INDEX and FIT: requests that look at every file of a dataset once (engine/index_task.h). An INDEX
 * leaves the JPEGs' seek indexes and writes them to the disk; a FIT computes statistics. Owned by
 * the session it is for; once that is gone the request lives until its jobs and tasks are back.
 * Loop thread.
 *
 *   open the dataset (catalog) -> each file (index task) -> INDEX: write (index cache)  -> REPORT
 *                                                         -> FIT: solve (fit)          -> REPORT
 */
#ifndef STOKER_LOOP_PROTOCOL_INDEX_REQUEST_H
#define STOKER_LOOP_PROTOCOL_INDEX_REQUEST_H

struct index_request;
struct message;
struct session;

/* Begin; the answer (REPORT or ERROR) comes later, or now. */
void index_request_index(struct session *session, const struct message *message);
void index_request_fit(struct session *session, const struct message *message);
void index_request_cancel(struct index_request *request); /* the client left */
void index_request_stop(struct index_request *request);	  /* the daemon is about to stop */
/* Tell the client how far it is. */
void index_request_progress(struct index_request *request);

#endif
