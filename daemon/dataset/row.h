/* SPDX-License-Identifier: MIT */
/*
 * One row of a manifest: a path and numbers, from one line of text in one of four formats. The text
 * is hostile. Pure: no file, no state but the header of a table; any thread, one at a time a row.
 *
 *	lines	path label [label...]			by blanks; no blanks in paths
 *	tsv	path<TAB>label[<TAB>label...]		a first line that begins with a column
 *							"path" is a header, as in csv
 *	csv	RFC 4180; its first line names the columns: one is "path", "weight", "mask",
 *		"boxes" and "points" are what they say, "targets.NAME" is the field NAME, all
 *		others are labels; several numbers in a field stand apart by blanks
 *	jsonl	{"path": "...", "label": 1}, or a list of numbers; beside them "weight": 1.0,
 *		"mask": "path", "boxes": [[x0, y0, x1, y1], ...], "points": [[x, y], ...],
 *		"targets": {"NAME": a number or a list of numbers}; other keys are ignored
 *
 * A row that has any of these and no label has the label 0.
 */
#ifndef STOKER_DATASET_ROW_H
#define STOKER_DATASET_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "dataset/column.h"
#include "dataset/labels.h"

enum {
	ROW_E_BAD = 1, /* the words say what is wrong and what to do */
	ROW_NONE,      /* no row: a blank line, a header */
};

#define ROW_LABEL UINT8_MAX

struct row {
	const char *path; /* borrowed from the line, or owned by `json` */
	size_t path_size;
	uint32_t count;
	struct label labels[LABELS_MAX];
	uint32_t cell_count; /* what else there is; the numbers of all cells lie in `numbers` */
	struct cell cells[COLUMNS_MAX];
	uint32_t number_count;
	struct label numbers[LABELS_MAX];

	/* Of the format. */
	bool begun;			 /* the first line has been seen */
	uint32_t path_column;		 /* of tsv and csv */
	uint32_t columns;		 /* of a header; 0: none */
	uint8_t cell_of[LABELS_MAX + 1]; /* which cell a field is; ROW_LABEL: a label */
	void *json;			 /* what jsonl keeps alive for `path` */
};

struct row_format {
	const char *name;
	const char *endings[4]; /* of file names; NULL ends them */
	bool quotes;		/* a line goes on while a quote is open */
	/* `line` is terminated and may be changed. 0, ROW_NONE, ROW_E_BAD or -ENOMEM. */
	int (*parse)(struct row *row, char *line, size_t size, struct fault *fault);
};

extern const struct row_format row_lines, row_tsv, row_csv, row_jsonl;

/* The number that `text` is, as a label. 0 or ROW_E_BAD. */
int row_label(struct label *out, const char *text, size_t size, struct fault *fault);
/* One more number of the cell that is being filled in. 0 or ROW_E_BAD. */
int row_add_number(struct row *row, struct cell *cell, const struct label *label,
		   struct fault *fault);
/* The row is taken: without a label, but with cells, its label is 0. 0 or ROW_E_BAD. */
int row_end(struct row *row, struct fault *fault);
void row_deinit(struct row *row);

/* The format of this name, or the one that files of this name usually have; or NULL. */
const struct row_format *row_format_named(const char *name);
const struct row_format *row_format_of(const char *path);

#endif
