/* SPDX-License-Identifier: MIT */
/*
 * Membership of rings: a reader joins a ring, changes its ring, ends, leaves. Loop thread; knows no
 * session.
 */
#ifndef STOKER_LOOP_ENGINE_MEMBERSHIP_H
#define STOKER_LOOP_ENGINE_MEMBERSHIP_H

#include "loop/state/reader.h"

struct lease_book;
struct outbox;

struct reader_request {
	struct share share;
	uint64_t epoch, position, epochs;
	unsigned priority;
	struct ring_request ring_request;
	enum reader_pace pace;
	bool moves;
	char job[READER_JOB]; /* "": none */
};

/* Will `ring` have memory for the slots of a reader with this share, whose waiters are told then?
 */
bool membership_back(struct ring *ring, const struct share *share, const struct cursor *from);
/* Join `ring`, which holds the place to start at, for the client behind the outbox and book. 0 or
 * -ENOMEM. */
int membership_join(struct reader **out, struct ring *ring, const struct reader_request *request,
		    uid_t uid, struct outbox *outbox, struct lease_book *book);
/* Go on in `ring`, which holds its place. Its leases stay where they are. */
void membership_move(struct reader *reader, struct ring *ring);
/* End the reader, which has had its epochs: it leaves its ring and stays attached. */
void membership_end(struct reader *reader);
/* The reader goes away; its leases stay. The step sees to its ring. */
void membership_leave(struct reader *reader);

#endif
