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

#include "client/ctl/show/unit.h"

struct column {
	const char *title;
	const char *key;
	const char *of; /* a second key, shown after a slash; or NULL */
	enum unit unit;
	bool left;
};

/* Print `items`, an array of objects; only the titles if it is empty. `bold`: bold titles. */
void table_print(FILE *file, const json_t *items, const struct column *columns, size_t count,
		 bool bold);

#endif
