/* SPDX-License-Identifier: MIT */
/*
 * Messages that came while an answer was waited for, as their frames, in the order in which they
 * came, each with the descriptor that came with it. Plain memory; knows no socket.
 */
#ifndef STOKER_CLIENT_BACKLOG_H
#define STOKER_CLIENT_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BACKLOG_MAX 4096 /* messages: more than a daemon says of all that may be in flight */

struct backlog {
	struct backlog_frame *first, *last; /* owned */
	struct backlog_frame *given;	    /* owned; what the caller still reads */
	unsigned count;
};
#define BACKLOG_NULL ((struct backlog){0})

enum {
	BACKLOG_E_FULL = 1,
};

/* Copy a frame's payload, and own the descriptor (or -1), also where it fails. 0, BACKLOG_E_FULL or
 * -ENOMEM. */
int backlog_add(struct backlog *backlog, const uint8_t *bytes, size_t size, int fd);
/* The oldest one, borrowed until the next call here; its descriptor is the caller's. False: none.*/
bool backlog_take(struct backlog *backlog, const uint8_t **bytes_out, size_t *size_out,
		  int *fd_out);
void backlog_deinit(struct backlog *backlog); /* may be called twice */

#endif
