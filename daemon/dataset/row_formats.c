// SPDX-License-Identifier: MIT
/* The table of formats of rows, above all of them. */
#include <string.h>
#include <strings.h>

#include "dataset/row.h"

static const struct row_format *const row_formats[] = {&row_lines, &row_tsv, &row_csv, &row_jsonl};
#define FORMATS (sizeof(row_formats) / sizeof(row_formats[0]))

const struct row_format *row_format_named(const char *name)
{
	for (size_t i = 0; i < FORMATS; i++) {
		if (strcmp(row_formats[i]->name, name) == 0)
			return row_formats[i];
	}
	return NULL;
}

const struct row_format *row_format_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');
	for (size_t i = 0; i < FORMATS && dot; i++) {
		for (const char *const *ending = row_formats[i]->endings; *ending; ending++) {
			if (strcasecmp(dot, *ending) == 0)
				return row_formats[i];
		}
	}
	return NULL;
}
