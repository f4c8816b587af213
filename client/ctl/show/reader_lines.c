/* SPDX-License-Identifier: MIT */
#include "client/ctl/show/reader_lines.h"

#include <stdbool.h>
#include <string.h>

#include "client/ctl/show/unit.h"
#include "client/ctl/show/values.h"
#include "proto/row.h"

static uint64_t number_of_reader(const json_t *row)
{
	return (uint64_t)number_of(row, ROW_KEY(reader, reader));
}

static bool is_listed(const json_t *readers, uint64_t reader)
{
	size_t i;
	const json_t *row;
	json_array_foreach(readers, i, row)
	{
		if (number_of_reader(row) == reader)
			return true;
	}
	return false;
}

/* The line of this reader; `reader` 0: one that is free; NULL: there is none. */
static struct reader_line *line_of(struct reader_lines *lines, uint64_t reader)
{
	for (size_t i = 0; i < READER_LINES_MOST; i++)
		if (lines->lines[i].reader == reader)
			return &lines->lines[i];
	return NULL;
}

void reader_lines_add(struct reader_lines *lines, const json_t *readers)
{
	size_t i;
	const json_t *row;
	for (i = 0; i < READER_LINES_MOST; i++)
		if (lines->lines[i].reader && !is_listed(readers, lines->lines[i].reader))
			memset(&lines->lines[i], 0, sizeof(lines->lines[i]));
	json_array_foreach(readers, i, row)
	{
		uint64_t reader = number_of_reader(row);
		struct reader_line *line = line_of(lines, reader);
		line = line ? line : line_of(lines, 0);
		if (!line)
			continue;
		line->reader = reader;
		history_add(&line->history, number_of(row, ROW_KEY(reader, images_per_second)));
	}
}

static void line_print(FILE *file, const struct reader_line *line, const json_t *row)
{
	char waited[32];
	fprintf(file, "  reader %-4llu", (unsigned long long)line->reader);
	history_print(file, &line->history, history_terminal_is_utf8());
	fprintf(file, " up to %.0f", history_highest(&line->history));
	if (json_object_get(row, ROW_KEY(reader, waited))) {
		unit_write(json_object_get(row, ROW_KEY(reader, waited)), UNIT_SHARE, waited,
			   sizeof(waited));
		fprintf(file, "; its trainer waited %s of the last minute", waited);
	}
	fputc('\n', file);
}

void reader_lines_print(FILE *file, const struct reader_lines *lines, const json_t *readers)
{
	size_t i;
	const json_t *row;
	json_array_foreach(readers, i, row)
	{
		for (size_t k = 0; k < READER_LINES_MOST; k++)
			if (lines->lines[k].reader == number_of_reader(row))
				line_print(file, &lines->lines[k], row);
	}
}
