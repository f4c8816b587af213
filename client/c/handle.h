/* SPDX-License-Identifier: MIT */
/*
 * The handle of stoker.h: what it holds, and how it gets a connection and a ring. It owns all of
 * them. Knows no batch, and no option of the caller.
 *
 * Threads: one at a time is inside of a call, and any other may give a batch back meanwhile. So
 * `lock` guards all members but `pid`, `fault`, `info` and `socket`, which only the thread inside
 * uses. That thread holds it, except while it waits: for a message, for a daemon, or to connect.
 */
#ifndef STOKER_CLIENT_HANDLE_H
#define STOKER_CLIENT_HANDLE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "client/c/attach.h"
#include "client/c/batch.h"
#include "client/c/connection.h"
#include "client/c/listing/classes.h"
#include "client/c/listing/stats.h"
#include "client/c/resume.h"
#include "client/c/sent_fds.h"
#include "client/c/share.h"
#include "client/c/token.h"
#include "client/c/user_keys.h"
#include "client/c/watch.h"

struct stoker {
	pthread_mutex_t lock;
	bool inside;	  /* a thread is inside of a call */
	pthread_t caller; /* the last one that was; `fault` is for it alone */
	struct connection connection;
	char *socket;	   /* as it was given; NULL: the default places */
	struct ring *ring; /* the one that holds the current batches; NULL: not attached */
	struct resume resume;
	struct share share;	     /* which batches are to come */
	struct sent_fds fds;	     /* descriptors that go with its ATTACH */
	struct user_keys *user_keys; /* credentials that were given to it; NULL: none */
	struct attach_info info;
	struct token token;	/* of the stream, without its place ... */
	char *token_json;	/* ... and as stoker_token() gave it; owned */
	struct classes classes; /* of the dataset; empty until asked for */
	struct classes paths;	/* the same of some of its samples */
	struct stats stats;	/* as stoker_stats() gave them */
	struct batch *held;	/* all that the caller holds, also from earlier attachments */
	uint64_t attachment;	/* number of the current one */
	uint64_t connected;	/* number of the current connection, to which leases belong ... */
	uint64_t last_lease;	/* ... and the last of them */
	uint64_t inflight, batch_size; /* of this attachment */
	int end; /* 1: batches may come; 0: END has come; -ESHUTDOWN: GOAWAY has come */
	struct watch watch;
	pid_t pid; /* of the process that made it */
	struct fault fault;
	struct fault stalled; /* why the next batch is late, from STALLED ... */
	uint64_t blocking;    /* ... if it waits for this lease of the caller's; 0: it does not */
};

/* Every public call begins with this: 0, -EINVAL without a handle, -EPERM after a fork, -EALREADY
 * another thread is inside. */
int handle_enter(struct stoker *stoker);
/* Enters a call that needs an attachment; -ENOTCONN without one. */
int handle_enter_attached(struct stoker *stoker);

/* Every public call that has entered ends with this; returns `result`, or why the descriptor of
 * stoker_fd() cannot be kept up to date. */
int handle_leave(struct stoker *stoker, int result);

/* Lock and unlock around what any thread may do meanwhile. They change no fault but that of the
 * caller. */
int handle_lock(struct stoker *stoker);
void handle_unlock(struct stoker *stoker);

/* Not attached any more; batches that are held stay. */
void handle_forget_ring(struct stoker *stoker);

/* The next batch is not late any more. */
void handle_forget_stall(struct stoker *stoker);

/* Replace the connection by a new one that has said HELLO. 0 or a negative errno, as are those of
 * the calls below; explained in the handle's fault. */
int handle_open(struct stoker *stoker);

/* Send ATTACH, wait for ATTACHED, and map its ring. */
int handle_ask_attach(struct stoker *stoker, struct message *request, struct message *reply_out);

/* Ask as its token says, if it has one. A daemon that knows more fields than that has other
 * digests: then it is asked again without. -ESTALE names the field that differs. */
int handle_ask_token(struct stoker *stoker, struct attach *attach, struct message *reply_out);

/* Take over the ring that ATTACHED or RING announces. An earlier one, which must be of the same
 * stream, stays mapped for the batches that are held. */
int handle_take_ring(struct stoker *stoker, struct text transport, uint64_t bytes, uint64_t number);

#endif
