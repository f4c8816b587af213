/* SPDX-License-Identifier: MIT */
/*
 * What it takes to go on where the caller is once the daemon was lost: the ATTACH as it was said,
 * the place behind the last batch that was handed over, and for how long, and how often, to try.
 * The time counts from the loss to the first batch of the daemon that is there again, so that one
 * that dies over and over is given up, too. Knows no socket.
 */
#ifndef STOKER_CLIENT_RESUME_H
#define STOKER_CLIENT_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/c/fault.h"
#include "proto/message.h"

struct resume {
	uint8_t *attach; /* owned; the frame; NULL: not attached */
	size_t size;
	char dataset[33], pipeline[33], sampling[33];
	uint64_t epoch, position; /* all before was handed over */
	uint64_t end;		  /* the epoch behind the last one; 0: without end */
	int64_t limit_ms;	  /* 0: never try */
	int64_t until;		  /* when to give up; 0: nothing is lost */
	int64_t next;		  /* when to try again */
	int64_t pause_ms;
	int lost; /* as which errno the loss is told if nobody comes; 0: the daemon is there */
	struct fault why;
};

/* Keep an ATTACH that ATTACHED has answered. 0 or -ENOMEM, with words. */
int resume_keep(struct resume *resume, const struct message *attach,
		const struct message_attached *attached, int64_t limit_ms, struct fault *fault);
void resume_deinit(struct resume *resume); /* may be called twice */

enum {
	RESUME_E_END = 1, /* all epochs are behind the caller */
};

/* That ATTACH, for the place where the caller is; it borrows from `resume` and `memory`. 0,
 * RESUME_E_END or -ENOMEM. */
int resume_attach(const struct resume *resume, struct decoder_memory *memory, struct message *out);

/* A batch was handed over: `epoch` and `position` are where it says to go on. */
void resume_pass(struct resume *resume, uint64_t epoch, uint64_t position);

/* The daemon is lost; `fault` says how. False if nobody wants to wait for another. */
bool resume_lose(struct resume *resume, int lost, const struct fault *fault);
void resume_fail(struct resume *resume); /* a try was in vain: the next one is later */
void resume_find(struct resume *resume); /* attached again */
/* May another try be worth it, of what connecting and attaching gave? */
bool resume_passes(int result);
static inline bool resume_over(const struct resume *resume, int64_t now)
{
	return now >= resume->until;
}

#endif
