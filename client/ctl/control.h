/* SPDX-License-Identifier: MIT */
/*
 * The control socket of the daemon: each request is a call that waits for its answer. Answers are
 * JSON, new references that the caller owns. Knows no terminal.
 *
 * Every call returns 0 or a negative errno, explained in `fault`.
 */
#ifndef STOKER_CTL_CONTROL_H
#define STOKER_CTL_CONTROL_H

#include <jansson.h>

#include "client/c/address.h"
#include "client/c/connection.h"
#include "client/c/sent_fds.h"
#include "proto/pack.h"

struct control {
	struct connection connection;
	char daemon[256]; /* name and version, from WELCOME */
	uint64_t pid;
	struct sent_fds fds; /* descriptors of the dataset of a request */
	struct fault fault;
};

/* Connect and say HELLO; `socket` NULL: the default places. `which` and `quiet_ms`: to the data
 * socket, where only HELLO and PING are allowed, or with less patience. */
int control_open_at(struct control *control, enum address_socket which, const char *socket,
		    int quiet_ms);
int control_open(struct control *control, const char *socket);
void control_close(struct control *control); /* also after control_open() failed */

int control_status(struct control *control, json_t **values_out);
int control_list(struct control *control, const char *what, json_t **items_out);
int control_set(struct control *control, const char *name, const char *value);
/* Drop what is kept of a dataset, by its number; 0: of all. */
int control_drop(struct control *control, uint64_t dataset);
int control_pin(struct control *control, uint64_t dataset, bool pinned); /* 0: all of them */
/* `values_out`: the file, and what changed; see RELOAD in PROTOCOL.md. */
int control_reload(struct control *control, json_t **values_out);
int control_ping(struct control *control, double *seconds_out);
/* The `dataset` of the next request: a path, and its kind or NULL; descriptors of it go with the
 * request, if the daemon has use for them. `packer` owns the bytes. */
int control_dataset(struct control *control, struct packer *packer, const char *path,
		    const char *kind, struct text *out);
/* Ask it to stop, and wait until it has stopped. */
int control_stop(struct control *control);
/* Ask it to go on as the new program, and wait until the old one has ended. */
int control_upgrade(struct control *control);

#endif
