/* SPDX-License-Identifier: MIT */
/*
 * A queue of messages that came while the caller waited for an answer: their frames in order, each
 * with the descriptor that came with it. Plain memory; knows no socket.
 */
#ifndef STOKER_CLIENT_BACKLOG_H
#define STOKER_CLIENT_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In messages: more than a daemon sends for all batches that may be in flight. */
#define BACKLOG_MAX 4096

struct backlog {
	struct backlog_frame *first, *last; /* owned */
	struct backlog_frame *given;	    /* owned; the one that the caller reads */
	unsigned count;
};
#define BACKLOG_NULL ((struct backlog){0})

enum {
	BACKLOG_E_FULL = 1,
};

/* Copy the payload of a frame and take over the descriptor (or -1), also on failure. 0,
 * BACKLOG_E_FULL or -ENOMEM. */
int backlog_add(struct backlog *backlog, const uint8_t *bytes, size_t size, int fd);
/* Take the oldest message: its bytes are borrowed until the next call, its descriptor is the
 * caller's. False: there is none. */
bool backlog_take(struct backlog *backlog, const uint8_t **bytes_out, size_t *size_out,
		  int *fd_out);
void backlog_deinit(struct backlog *backlog); /* may be called twice */

#endif
