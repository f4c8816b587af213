/* SPDX-License-Identifier: MIT */
/*
 * One row of a manifest: parses one line of text, in one of four formats, into a path, labels and
 * the cells of other columns. The text is hostile. Opens no file; keeps nothing between lines but
 * the table's header. Any thread, one thread at a time for a row.
 *
 *	lines	path [label...]		separated by blanks; no blanks in paths
 *	tsv	path[<TAB>label...]	if a field of the first line is "path", that line is a
 *					header as in csv
 *	csv	RFC 4180. The first line names the columns: "path" is required; "weight",
 *		"mask", "mask16", "panoptic", "boxes", "points" are those columns,
 *		"targets.NAME" is column NAME, all others are labels, or, with a `label_name`,
 *		only that one is. Numbers within a field are separated by blanks.
 *	jsonl	{"path": "...", "label": 1}, the label a number, a list of numbers or a class
 *		name. Optional: "weight": 1.0, "mask", "mask16" or "panoptic": "path",
 *		"boxes": [[x0, y0, x1, y1], ...], "points": [[x, y], ...],
 *		"instances": a list of COCO's segmentations: lists of polygons [x, y, x, y, ...],
 *		or {"size": [height, width], "counts": run lengths, packed or one by one},
 *		"targets": {"NAME": a number or a list of numbers}.
 *		Other keys are listed in `unused`; one that is nearly "label", in a row without
 *		a label, is an error.
 *
 * Labels are numbers; or one label, which is the name of a class; or there is none, which is the
 * label 0. The first row decides which. In the formats that are plain text a name cannot be a
 * number, and what nearly is one (label_text.h) is an error. Blanks beside a column's name are cut.
 */
#ifndef STOKER_DATASET_ROW_H
#define STOKER_DATASET_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/quote.h"
#include "dataset/column.h"
#include "dataset/instance_list.h"
#include "dataset/labels.h"

enum {
	ROW_E_BAD = 1, /* the line is wrong; the words say why */
	ROW_NONE,      /* the line is not a row: it is blank or the header */
};

#define ROW_LABEL UINT8_MAX
#define ROW_UNUSED (UINT8_MAX - 1)

enum row_labels {
	ROW_LABELS_UNKNOWN, /* before the first row */
	ROW_LABELS_NONE,
	ROW_LABELS_NUMBERS,
	ROW_LABELS_NAMES,
};

#define ROW_UNUSED_MAX 4 /* that are listed */

struct row {
	const char *path; /* borrowed from the line, or owned by `json` */
	size_t path_size;
	uint32_t count;
	struct label labels[LABELS_MAX];
	const char *class; /* the label is this name and no number, not terminated; else NULL */
	size_t class_size;
	uint32_t cell_count; /* of the other columns; the numbers of all cells lie in `numbers` */
	struct cell cells[COLUMNS_MAX];
	uint32_t number_count;
	struct label numbers[LABELS_MAX];

	/* What the columns of path and label are called; NULL: "path", and all other columns or
	 * "label". Set before the first line. */
	const char *path_name, *label_name;

	/* State of the formats. */
	enum row_labels labelled; /* what all rows have */
	struct quote unused[ROW_UNUSED_MAX];
	unsigned unused_count;
	bool begun;			 /* the first line has been seen */
	uint32_t path_column;		 /* of tsv and csv */
	uint32_t columns;		 /* of the header; 0: there is none */
	uint8_t cell_of[LABELS_MAX + 1]; /* each field's cell, ROW_LABEL or ROW_UNUSED */
	void *json;			 /* of jsonl: owns the text of `path` */
	struct instance_list instances;	 /* of jsonl; owned */
};

struct row_format {
	const char *name;
	const char *endings[4]; /* of the names of its files; NULL ends them */
	bool named;		/* its columns can have names */
	bool quotes;		/* a line break within quotes does not end the line */
	size_t line_max;	/* bytes of a line; 0: LINE_MAX_BYTES */
	/* `line` is terminated and may be changed. 0, ROW_NONE, ROW_E_BAD or -ENOMEM. */
	int (*parse)(struct row *row, char *line, size_t size, struct fault *fault);
};

extern const struct row_format row_lines, row_tsv, row_csv, row_jsonl;

/* Parse a number. 0 or ROW_E_BAD. */
int row_label(struct label *out, const char *text, size_t size, struct fault *fault);
/* Append a number to the cell that is being filled in. 0 or ROW_E_BAD. */
int row_add_number(struct row *row, struct cell *cell, const struct label *label,
		   struct fault *fault);
/* Take a class name as the row's label. 0 or ROW_E_BAD. */
int row_add_class(struct row *row, const char *name, size_t size, struct fault *fault);
/* Take a terminated text, a number or the name of a class, as the row's only label. 0 or ROW_E_BAD.
 */
int row_take_label(struct row *row, const char *text, size_t size, struct fault *fault);
/* Call at the end of a row: checks that it has the labels that all rows have, and gives it the
 * label 0 if it has none. 0 or ROW_E_BAD. */
int row_end(struct row *row, struct fault *fault);

/* The format called `name`, or the format of the file `path` by its ending; or NULL. */
const struct row_format *row_format_named(const char *name);
const struct row_format *row_format_of(const char *path);

#endif
