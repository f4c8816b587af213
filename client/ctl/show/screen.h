/* SPDX-License-Identifier: MIT */
/*
 * The terminal as a screen that is redrawn, and as keys: its settings, its alternate screen, its
 * size. There is one for the process, because signal handlers use it: a signal that ends the
 * process or stops it (Ctrl-Z) while the screen is open first restores the terminal. Knows no
 * daemon.
 */
#ifndef STOKER_CTL_SCREEN_H
#define STOKER_CTL_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

/* False: stdin and stdout are not both a terminal that can do this. */
bool screen_open(void);
void screen_close(void); /* may be called twice */

/* Show as much of `text` as there is room for, from the top, and `last` in the lowest line. The
 * only escape sequences in the text are those that end in m. */
void screen_draw(const char *text, const char *last);

#define SCREEN_GONE (-1) /* the terminal is closed */

/* Wait for a key, but only until clock_ms() is `until_ms`; without an open screen just wait. A key,
 * SCREEN_GONE, or 0: the time is over, or the size has changed and it must be drawn again. */
int screen_wait(int64_t until_ms);

#endif
