/* SPDX-License-Identifier: MIT */
/*
 * A live view of the daemon: what its counters grew by since the last look, and its readers. It
 * owns the connection, which it makes anew when the daemon is started anew. Knows the daemon by
 * STATUS, LIST and SET alone, and of the terminal only what screen.h says.
 */
#ifndef STOKER_CTL_TOP_H
#define STOKER_CTL_TOP_H

#include <stdbool.h>

#include "client/c/fault.h"

struct top_options {
	const char *socket;   /* NULL: the usual places */
	const char *interval; /* seconds; NULL: 1 */
	bool json, bold;
};

/* Show it until `q`, on a terminal; else, or as JSON, print frame after frame until nobody takes
 * them. A daemon that goes away is waited for. 0 or a negative errno, with words: it was not there
 * at the begin. */
int top_run(const struct top_options *options, struct fault *fault);

#endif
