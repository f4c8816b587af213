/* SPDX-License-Identifier: MIT */
/*
 * `stokerctl top`: a live view of the daemon. Shows how fast its counters grow, and its readers.
 * Owns the connection, and connects again when the daemon was restarted. Uses only STATUS, LIST and
 * SET; the terminal belongs to screen.h.
 */
#ifndef STOKER_CTL_TOP_H
#define STOKER_CTL_TOP_H

#include <stdbool.h>

#include "client/c/fault.h"

struct top_options {
	const char *socket;   /* NULL: the default places */
	const char *interval; /* seconds; NULL: 1 */
	bool json, bold;
};

/* Show it on a terminal until `q`; else, or as JSON, print frame after frame until the output is
 * closed. If the daemon goes away it waits for it to come back. 0, or a negative errno, explained
 * in `fault`, if there was no daemon at the start. */
int top_run(const struct top_options *options, struct fault *fault);

#endif
