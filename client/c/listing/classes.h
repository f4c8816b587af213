/* SPDX-License-Identifier: MIT */
/*
 * The names of the classes of a dataset, by label, and the paths of its samples, as the daemon
 * lists them to an attached reader.
 */
#ifndef STOKER_CLIENT_CLASSES_H
#define STOKER_CLIENT_CLASSES_H

#include "client/c/connection.h"

struct classes {
	char **names; /* owned, as is each name; ends in NULL. NULL: not asked yet */
	uint64_t count, capacity;
	uint64_t first; /* of paths: the sample whose path is the first of them */
};
#define CLASSES_NULL ((struct classes){0})

/* Ask the daemon; batches that come meanwhile are kept. 0 or a negative errno, explained in
 * `fault`. */
int classes_ask(struct classes *out, struct connection *connection, struct fault *fault);
/* The paths of as many samples as one answer has, from `first` on, in the place of those that it
 * had; none if there is no such sample. */
int classes_ask_paths(struct classes *out, struct connection *connection, uint64_t first,
		      struct fault *fault);
void classes_deinit(struct classes *classes); /* may be called twice */

#endif
