/* SPDX-License-Identifier: MIT */
/*
 * State to continue with after the daemon was lost: the ATTACH that was sent, the position after
 * the last batch that the caller got, and when to try again and when to give up. The limit counts
 * from the loss to the first batch of the next daemon, so it also ends the wait for a daemon that
 * dies again and again. Knows no socket.
 */
#ifndef STOKER_CLIENT_RESUME_H
#define STOKER_CLIENT_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/c/fault.h"
#include "proto/message.h"

struct resume {
	uint8_t *attach; /* owned; its frame; NULL: not attached */
	size_t size;
	char dataset[33], names[33], pipeline[33], sampling[33];
	uint64_t epoch, position; /* where to go on: the caller has had everything before */
	uint64_t end;		  /* the epoch after the last one; 0: endless */
	uint64_t inflight;	  /* as the caller last set it */
	int64_t limit_ms;	  /* 0: never try */
	int64_t until;		  /* when to give up; 0: nothing is lost */
	int64_t next;		  /* when to try again */
	int64_t pause_ms;
	int lost;	  /* errno for the caller if no daemon comes back; 0: the daemon is there */
	struct fault why; /* how it was lost */
};

/* Keep an ATTACH that was answered by ATTACHED. 0 or -ENOMEM, explained in `fault`. */
int resume_keep(struct resume *resume, const struct message *attach,
		const struct message_attached *attached, int64_t limit_ms, struct fault *fault);
void resume_deinit(struct resume *resume); /* may be called twice */

enum {
	RESUME_E_END = 1, /* the caller has had all epochs */
};

/* Make the ATTACH that continues where the caller is; it borrows from `resume` and `memory`. 0,
 * RESUME_E_END or -ENOMEM. */
int resume_attach(const struct resume *resume, struct decoder_memory *memory, struct message *out);

/* Record a batch that the caller got, by its next_epoch and next_position. */
void resume_pass(struct resume *resume, uint64_t epoch, uint64_t position);

/* Record that the daemon is lost; `fault` says how. False: do not wait for it to come back. */
bool resume_lose(struct resume *resume, int lost, const struct fault *fault);
void resume_fail(struct resume *resume); /* an attempt failed: set the time of the next */
void resume_find(struct resume *resume); /* attached again: the daemon is not lost any more */
/* May a later attempt succeed, after this result of connecting or attaching? */
bool resume_is_temporary(int result);
/* Is it time to give up? */
static inline bool resume_over(const struct resume *resume, int64_t now)
{
	return now >= resume->until;
}

#endif
