/* SPDX-License-Identifier: MIT */
#include "client/ctl/nearest.h"

#include <string.h>

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t nearest_distance(const char *a, const char *b)
{
	size_t rows[3][NEAREST_FAR + 1], m = strlen(a), n = strlen(b);
	if (m >= NEAREST_FAR || n >= NEAREST_FAR)
		return NEAREST_FAR;
	for (size_t j = 0; j <= n; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= m; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *over = rows[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			row[j] = least(above[j], row[j - 1]) + 1;
			row[j] = least(row[j], above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], over[j - 2] + 1);
		}
	}
	return rows[m % 3][n];
}

bool nearest_is_like(const char *name, const char *command)
{
	size_t size = strlen(name);
	if (size > 1 && strncmp(name, command, size) == 0)
		return true;
	return nearest_distance(name, command) <= strlen(command) / 3;
}
