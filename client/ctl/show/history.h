/* SPDX-License-Identifier: MIT */
/*
 * The last values of a number that is looked at again and again, as a line of bars. Knows no
 * daemon.
 */
#ifndef STOKER_CTL_HISTORY_H
#define STOKER_CTL_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define HISTORY_MOST 50

struct history {
	double values[HISTORY_MOST]; /* a ring */
	size_t count;		     /* all that were added */
};

void history_add(struct history *history, double value);
double history_highest(const struct history *history); /* 0: there is none */
/* A character for each value, the oldest first; `utf8`: eighths of a block, else of ASCII. */
void history_print(FILE *file, const struct history *history, bool utf8);
/* Does the environment say that the terminal shows UTF-8? */
bool history_terminal_is_utf8(void);

#endif
