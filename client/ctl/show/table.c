/* SPDX-License-Identifier: MIT */
#include "client/ctl/show/table.h"

#include <string.h>

#define CELL_MAX 4096
#define COLUMNS_MAX 24

struct table {
	FILE *file;
	const struct column *columns;
	size_t count;
	size_t widths[COLUMNS_MAX]; /* 0: no item has it */
};

static void cell_write(const struct column *column, const json_t *item, char *out)
{
	unit_write(json_object_get(item, column->key), column->unit, out, CELL_MAX);
	if (!column->of)
		return;
	size_t used = strlen(out);
	if (used + 2 >= CELL_MAX)
		return;
	out[used++] = '/';
	unit_write(json_object_get(item, column->of), column->unit, out + used, CELL_MAX - used);
}

static void table_measure(struct table *table, const json_t *items)
{
	char cell[CELL_MAX];
	size_t i;
	const json_t *item;
	json_array_foreach(items, i, item)
	{
		for (size_t c = 0; c < table->count; c++) {
			if (!json_object_get(item, table->columns[c].key))
				continue;
			cell_write(&table->columns[c], item, cell);
			size_t width = unit_columns(cell), title = strlen(table->columns[c].title);
			width = width > title ? width : title;
			if (width > table->widths[c])
				table->widths[c] = width;
		}
	}
	if (json_array_size(items) == 0)
		for (size_t c = 0; c < table->count; c++)
			table->widths[c] = strlen(table->columns[c].title);
}

/* Pads between cells, not after the last. `*gap`: blanks to print before the next cell. */
static void cell_print(const struct table *table, size_t c, const char *cell, size_t *gap)
{
	size_t width = unit_columns(cell);
	size_t pad = table->widths[c] > width ? table->widths[c] - width : 0;
	bool left = table->columns[c].left;
	fprintf(table->file, "%*s%s", (int)(*gap + (left ? 0 : pad)), "", cell);
	*gap = 2 + (left ? pad : 0);
}

static void row_print(const struct table *table, const json_t *item)
{
	char cell[CELL_MAX];
	size_t gap = 0;
	for (size_t c = 0; c < table->count; c++) {
		if (!table->widths[c])
			continue;
		if (item)
			cell_write(&table->columns[c], item, cell);
		else
			snprintf(cell, sizeof(cell), "%s", table->columns[c].title);
		cell_print(table, c, cell, &gap);
	}
}

void table_print(FILE *file, const json_t *items, const struct column *columns, size_t count,
		 bool bold)
{
	struct table table = {file, columns, count < COLUMNS_MAX ? count : COLUMNS_MAX, {0}};
	size_t i;
	const json_t *item;
	table_measure(&table, items);
	fputs(bold ? "\033[1m" : "", file);
	row_print(&table, NULL);
	fputs(bold ? "\033[0m\n" : "\n", file);
	json_array_foreach(items, i, item)
	{
		row_print(&table, item);
		fputc('\n', file);
	}
}
