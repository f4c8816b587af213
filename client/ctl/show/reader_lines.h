/* SPDX-License-Identifier: MIT */
/*
 * The last rates of each reader, as lines of bars below the table of `stokerctl top`. Knows rows of
 * readers, and no daemon.
 */
#ifndef STOKER_CTL_READER_LINES_H
#define STOKER_CTL_READER_LINES_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "client/ctl/show/history.h"

#define READER_LINES_MOST 8

struct reader_lines {
	struct reader_line {
		uint64_t reader; /* its number; 0: none */
		struct history history;
	} lines[READER_LINES_MOST];
};

/* Add what the rows of a listing say; readers that are gone are forgotten. */
void reader_lines_add(struct reader_lines *lines, const json_t *readers);
/* In the order of `readers`, at most READER_LINES_MOST. */
void reader_lines_print(FILE *file, const struct reader_lines *lines, const json_t *readers);

#endif
