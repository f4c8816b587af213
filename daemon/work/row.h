/* SPDX-License-Identifier: MIT */
/*
 * One row of a manifest: a path and numbers, from one line of text in one of four formats. The text
 * is hostile. Pure: no file, no state but the header of a table; any thread, one at a time a row.
 *
 *	lines	path label [label...]			by blanks; no blanks in paths
 *	tsv	path<TAB>label[<TAB>label...]		a first line that begins with a column
 *							"path" is a header, as in csv
 *	csv	RFC 4180; its first line names the columns: one is "path", all others are labels
 *	jsonl	{"path": "...", "label": 1}, or a list of numbers; other keys are ignored
 */
#ifndef STOKER_WORK_ROW_H
#define STOKER_WORK_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "work/labels.h"

enum {
	ROW_E_BAD = 1, /* the words say what is wrong and what to do */
	ROW_NONE,      /* no row: a blank line, a header */
};

struct row {
	const char *path; /* borrowed from the line, or owned by `json` */
	size_t path_size;
	uint32_t count;
	struct label labels[LABELS_MAX];

	/* Of the format. */
	bool begun;	      /* the first line has been seen */
	uint32_t path_column; /* of tsv and csv */
	uint32_t columns;     /* of a header; 0: none */
	void *json;	      /* what jsonl keeps alive for `path` */
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
void row_deinit(struct row *row);

/* The format of this name, or the one that files of this name usually have; or NULL. */
const struct row_format *row_format_named(const char *name);
const struct row_format *row_format_of(const char *path);

#endif
