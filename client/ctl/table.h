/* SPDX-License-Identifier: MIT */
/*
 * A list of items as an aligned table: a row an item, a column a key that some item has. Numbers
 * stand right, texts left. Knows no item by name.
 */
#ifndef STOKER_CTL_TABLE_H
#define STOKER_CTL_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "client/ctl/unit.h"

struct column {
	const char *title;
	const char *key;
	const char *of; /* another key, written behind a slash; or NULL */
	enum unit unit;
	bool left;
};

/* Print `items`, an array of objects; only its titles if it is empty. `bold`: the titles are. */
void table_print(FILE *file, const json_t *items, const struct column *columns, size_t count,
		 bool bold);

#endif
