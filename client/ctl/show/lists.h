/* SPDX-License-Identifier: MIT */
/*
 * The columns of the lists that the daemon gives: streams, readers, datasets, bad samples. Asks
 * nobody.
 */
#ifndef STOKER_CTL_LISTS_H
#define STOKER_CTL_LISTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Print the items of the list called `what`. On a terminal (`bold`) an empty list is told. */
void lists_print(FILE *file, const char *what, const json_t *items, bool bold);

#endif
