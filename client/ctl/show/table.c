/* SPDX-License-Identifier: MIT */
#include "client/ctl/show/table.h"

#include <ctype.h>
#include <string.h>

#include "client/ctl/show/unit.h"

#define CELL_MAX 4096
#define TITLE_MAX 32
#define COLUMNS_MAX 24

struct column {
	const struct row_column *row;
	const struct row_column *of; /* a second key, shown behind a slash; or NULL */
	bool left;
	char title[TITLE_MAX];
	size_t width; /* 0: no item has it */
};

struct table {
	FILE *file;
	struct column columns[COLUMNS_MAX];
	size_t count;
};

/* The key in capitals, where no other title is given. */
static void column_entitle(struct column *column)
{
	const char *from = *column->row->title ? column->row->title : column->row->key;
	size_t i = 0;
	for (; from[i] && i < TITLE_MAX - 1; i++)
		column->title[i] = from[i] == '_' ? ' ' : (char)toupper((unsigned char)from[i]);
	column->title[i] = '\0';
}

static void table_choose(struct table *table, enum row_kind kind, const char *keys)
{
	const struct row_column *row;
	while (table->count < COLUMNS_MAX && (row = row_next(kind, &keys))) {
		struct column *column = &table->columns[table->count++];
		column->row = row;
		column->of = *keys == '/' ? row_next(kind, &keys) : NULL;
		column->left = row->type == ROW_IS_text || row->type == ROW_IS_hex ||
			       row->type == ROW_IS_boolean;
		column_entitle(column);
	}
}

static void cell_write(const struct column *column, const json_t *item, char *out)
{
	enum unit unit = column->row->unit;
	unit_write(json_object_get(item, column->row->key), unit, out, CELL_MAX);
	if (!column->of)
		return;
	size_t used = strlen(out);
	if (used + 2 >= CELL_MAX)
		return;
	out[used++] = '/';
	unit_write(json_object_get(item, column->of->key), unit, out + used, CELL_MAX - used);
}

static void table_measure(struct table *table, const json_t *items)
{
	char cell[CELL_MAX];
	bool none = json_array_size(items) == 0;
	for (size_t c = 0; c < table->count; c++) {
		struct column *column = &table->columns[c];
		size_t i, title = strlen(column->title);
		const json_t *item;
		column->width = none ? title : 0;
		json_array_foreach(items, i, item)
		{
			if (!json_object_get(item, column->row->key))
				continue;
			cell_write(column, item, cell);
			size_t width = unit_columns(cell);
			width = width > title ? width : title;
			column->width = width > column->width ? width : column->width;
		}
	}
}

/* Pads between cells, not after the last. `*gap`: blanks to print before the next cell. */
static void cell_print(const struct table *table, size_t c, const char *cell, size_t *gap)
{
	size_t width = unit_columns(cell);
	size_t pad = table->columns[c].width > width ? table->columns[c].width - width : 0;
	bool left = table->columns[c].left;
	fprintf(table->file, "%*s%s", (int)(*gap + (left ? 0 : pad)), "", cell);
	*gap = 2 + (left ? pad : 0);
}

static void row_print(const struct table *table, const json_t *item)
{
	char cell[CELL_MAX];
	size_t gap = 0;
	for (size_t c = 0; c < table->count; c++) {
		if (!table->columns[c].width)
			continue;
		if (item)
			cell_write(&table->columns[c], item, cell);
		else
			snprintf(cell, sizeof(cell), "%s", table->columns[c].title);
		cell_print(table, c, cell, &gap);
	}
}

void table_print(FILE *file, const json_t *items, enum row_kind kind, const char *keys, bool bold)
{
	struct table table = {.file = file};
	size_t i;
	const json_t *item;
	table_choose(&table, kind, keys);
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
