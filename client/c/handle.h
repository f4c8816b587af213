/* SPDX-License-Identifier: MIT */
/*
 * The handle of stoker.h: what it holds, and how it gets a connection and a ring. It owns all of
 * them. One thread at a time uses it. Knows no batch, and no option of the caller.
 */
#ifndef STOKER_CLIENT_HANDLE_H
#define STOKER_CLIENT_HANDLE_H

#include <sys/types.h>

#include "client/c/attach.h"
#include "client/c/batch.h"
#include "client/c/classes.h"
#include "client/c/connection.h"
#include "client/c/given.h"
#include "client/c/own.h"
#include "client/c/resume.h"
#include "client/c/watch.h"

struct stoker {
	struct connection connection;
	char *socket;	   /* as it was given; NULL: the default places */
	struct ring *ring; /* the one that holds the current batches; NULL: not attached */
	struct resume resume;
	struct given given; /* descriptors that go with its ATTACH */
	struct own *own;    /* credentials that were given to it; NULL: none */
	struct attach_info info;
	struct classes classes; /* of the dataset; empty until asked for */
	struct batch *held;	/* all that the caller holds, also from earlier attachments */
	uint64_t attachment;	/* number of the current one */
	uint64_t connected;	/* number of the current connection, to which leases belong */
	uint64_t inflight, batch_size; /* of this attachment */
	int end; /* 1: batches may come; 0: END has come; -ESHUTDOWN: GOAWAY has come */
	struct watch watch;
	pid_t pid; /* of the process that made it */
	struct fault fault;
	struct fault stalled; /* why the next batch is late, from STALLED */
};

/* Every public call begins with this: 0, -EINVAL without a handle, -EPERM after a fork. */
int handle_enter(struct stoker *stoker);

/* Every public call that may have opened, closed or sent ends with this; returns `result`, or why
 * the descriptor of stoker_fd() cannot be kept up to date. */
int handle_leave(struct stoker *stoker, int result);

/* Not attached any more; batches that are held stay. */
void handle_forget_ring(struct stoker *stoker);

/* Replace the connection by a new one that has said HELLO. 0 or a negative errno, as are those of
 * the calls below; explained in the handle's fault. */
int handle_open(struct stoker *stoker);

/* Send ATTACH, wait for ATTACHED, and map its ring. */
int handle_ask_attach(struct stoker *stoker, struct message *request, struct message *reply_out);

/* Take over the ring that ATTACHED or RING announces. An earlier one, which must be of the same
 * stream, stays mapped for the batches that are held. */
int handle_take_ring(struct stoker *stoker, struct text transport, uint64_t bytes, uint64_t number);

#endif
