/* SPDX-License-Identifier: MIT */
/* "Did you mean ...?": which command a mistyped name is nearest to. Pure. */
#ifndef STOKER_CTL_NEAREST_H
#define STOKER_CTL_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* Letters to add, drop, change, or swap with the next, to get from one to the other; names that are
 * too long to be a command are NEAREST_FAR from everything. */
#define NEAREST_FAR 15
size_t nearest_distance(const char *a, const char *b);

/* Could `name` have been meant for `command`? One is its beginning, or few letters are wrong. */
bool nearest_is_like(const char *name, const char *command);

#endif
