/* SPDX-License-Identifier: MIT */
/*
 * A list of items as an aligned table: a row for each item, a column for each key that some item
 * has. Numbers are aligned right, texts left. Knows no particular item.
 */
#ifndef STOKER_CTL_TABLE_H
#define STOKER_CTL_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "proto/row.h"

/*
 * Print `items`, an array of rows of this kind; only the titles if it is empty. `keys`: which
 * columns, at most 24, and in which order, as words of row_next(); "rank/world" is one column.
 * `bold`: bold titles.
 */
void table_print(FILE *file, const json_t *items, enum row_kind kind, const char *keys, bool bold);

#endif
