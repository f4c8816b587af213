/* SPDX-License-Identifier: MIT */
/*
 * One row of a manifest: parses one line of text, in one of four formats, into a path, labels and
 * the cells of other columns. The text is hostile. Opens no file; keeps nothing between lines but
 * the table's header. Any thread, one thread at a time for a row.
 *
 *	lines	path label [label...]		separated by blanks; no blanks in paths
 *	tsv	path<TAB>label[<TAB>label...]	if a field of the first line is "path", that line
 *						is a header as in csv
 *	csv	RFC 4180. The first line names the columns: "path" is required; "weight",
 *		"mask", "boxes" and "points" are those columns, "targets.NAME" is the column
 *		NAME, all others are labels. Numbers within a field are separated by blanks.
 *	jsonl	{"path": "...", "label": 1}, the label a number or a list of numbers. Optional:
 *		"weight": 1.0, "mask": "path", "boxes": [[x0, y0, x1, y1], ...],
 *		"points": [[x, y], ...], "targets": {"NAME": a number or a list of numbers}.
 *		Other keys are ignored.
 *
 * A row with such a column but without a label gets the label 0.
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
	ROW_E_BAD = 1, /* the line is wrong; the words say why */
	ROW_NONE,      /* the line is not a row: it is blank or the header */
};

#define ROW_LABEL UINT8_MAX

struct row {
	const char *path; /* borrowed from the line, or owned by `json` */
	size_t path_size;
	uint32_t count;
	struct label labels[LABELS_MAX];
	uint32_t cell_count; /* of the other columns; the numbers of all cells lie in `numbers` */
	struct cell cells[COLUMNS_MAX];
	uint32_t number_count;
	struct label numbers[LABELS_MAX];

	/* State of the formats. */
	bool begun;			 /* the first line has been seen */
	uint32_t path_column;		 /* of tsv and csv */
	uint32_t columns;		 /* of the header; 0: there is none */
	uint8_t cell_of[LABELS_MAX + 1]; /* each field's cell, or ROW_LABEL */
	void *json;			 /* of jsonl: owns the text of `path` */
};

struct row_format {
	const char *name;
	const char *endings[4]; /* of the names of its files; NULL ends them */
	bool quotes;		/* a line break within quotes does not end the line */
	/* `line` is terminated and may be changed. 0, ROW_NONE, ROW_E_BAD or -ENOMEM. */
	int (*parse)(struct row *row, char *line, size_t size, struct fault *fault);
};

extern const struct row_format row_lines, row_tsv, row_csv, row_jsonl;

/* Parse a number. 0 or ROW_E_BAD. */
int row_label(struct label *out, const char *text, size_t size, struct fault *fault);
/* Append a number to the cell that is being filled in. 0 or ROW_E_BAD. */
int row_add_number(struct row *row, struct cell *cell, const struct label *label,
		   struct fault *fault);
/* Call at the end of a row: gives it the label 0 if it has cells only. 0 or ROW_E_BAD. */
int row_end(struct row *row, struct fault *fault);
void row_deinit(struct row *row);

/* The format called `name`, or the format of the file `path` by its ending; or NULL. */
const struct row_format *row_format_named(const char *name);
const struct row_format *row_format_of(const char *path);

#endif
