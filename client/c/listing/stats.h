/* SPDX-License-Identifier: MIT */
/*
 * Statistics of a reader, as the daemon lists them to it: a row of proto/rows.h, as the struct of
 * stoker.h.
 */
#ifndef STOKER_CLIENT_STATS_H
#define STOKER_CLIENT_STATS_H

#include "client/c/connection.h"
#include "client/c/stoker.h"

struct stats {
	struct stoker_stats stats;
	char state[32], limited_by[32]; /* its texts */
};

/* Ask the daemon; batches that come meanwhile are kept. 0 or a negative errno, explained in
 * `fault`. */
int stats_ask(struct stats *out, struct connection *connection, struct fault *fault);

#endif
