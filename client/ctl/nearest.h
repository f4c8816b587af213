/* SPDX-License-Identifier: MIT */
/* "Did you mean ...?": is a mistyped name close to a command? Pure. */
#ifndef STOKER_CTL_NEAREST_H
#define STOKER_CTL_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* The Damerau-Levenshtein distance (letters added, dropped, changed or swapped with the next one).
 * Names that are too long to be a command are NEAREST_FAR from everything. */
#define NEAREST_FAR 15
size_t nearest_distance(const char *a, const char *b);

/* Could `name` mean `command`? It is its beginning, or few letters are wrong. */
bool nearest_is_like(const char *name, const char *command);

#endif
