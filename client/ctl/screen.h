/* SPDX-License-Identifier: MIT */
/*
 * The terminal as a screen that is drawn anew, and as keys: its settings, its other screen, its
 * size. One for the process, since a signal has to find it: whatever ends the process while the
 * screen is open, or stops it (Ctrl-Z), first puts the terminal back as it was. Knows no daemon.
 */
#ifndef STOKER_CTL_SCREEN_H
#define STOKER_CTL_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

/* False: stdin and stdout are not both a terminal that can do it. */
bool screen_open(void);
void screen_close(void); /* may be called twice */

/* Show `text` from the top, as much of it as there is room for, and `last` in the lowest line.
 * The text has no escape sequences but those that end in m. */
void screen_draw(const char *text, const char *last);

#define SCREEN_GONE (-1) /* nobody sits there any more */

/* Wait for a key, until `until_ms` of clock_ms() at most; without an open screen only that. A key,
 * SCREEN_GONE, or 0: the time is over, or it is to be drawn again (another size). */
int screen_wait(int64_t until_ms);

#endif
