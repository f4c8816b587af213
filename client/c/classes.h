/* SPDX-License-Identifier: MIT */
/*
 * The names of a dataset's classes, by label, as the daemon lists them to who is attached.
 */
#ifndef STOKER_CLIENT_CLASSES_H
#define STOKER_CLIENT_CLASSES_H

#include "client/c/connection.h"

struct classes {
	char **names; /* owned, each of them, too; behind the last is NULL. NULL: not asked yet */
	uint64_t count, capacity;
};
#define CLASSES_NULL ((struct classes){0})

/* Ask, beside the batches that may come meanwhile. 0 or a negative errno, with words. */
int classes_ask(struct classes *out, struct connection *connection, struct fault *fault);
void classes_deinit(struct classes *classes); /* may be called twice */

#endif
