/* SPDX-License-Identifier: MIT */
/*
 * The columns of a dataset beside path and label: named, one kind each, a cell for every sample.
 * Numbers are rows of one length, boxes and points lists of any length, a mask is a path. Grows
 * row by row on one thread; then immutable, any thread. Knows no format of text.
 */
#ifndef STOKER_DATASET_COLUMN_H
#define STOKER_DATASET_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/fault.h"
#include "dataset/labels.h"
#include "proto/segment.h"

#define COLUMNS_MAX (SEGMENT_FIELDS_MAX - 3) /* beside image, label and index */
#define COLUMN_NAME_MAX 16		     /* its end included, as in a ring's header */

enum column_kind {
	COLUMN_NUMBERS,
	COLUMN_MASK,   /* the path of a second picture */
	COLUMN_BOXES,  /* x0, y0, x1, y1 of each, in pixels of the picture */
	COLUMN_POINTS, /* x, y */
};

/* What one row says of one column; all is borrowed. */
struct cell {
	char name[COLUMN_NAME_MAX];
	enum column_kind kind;
	const char *text; /* of a mask: its path */
	size_t text_size;
	const struct label *numbers; /* of the others */
	uint32_t count;
};

struct column {
	char name[COLUMN_NAME_MAX];
	enum column_kind kind;
	struct labels numbers; /* of COLUMN_NUMBERS; the others have: */
	uint8_t *data;	       /* floats, or bytes of paths, one row after the other ... */
	uint64_t size, capacity;
	uint64_t *ends; /* ... and where each ends */
	uint64_t rows, ends_capacity;
	uint64_t widest; /* bytes of the longest */
};

struct columns {
	unsigned count;
	uint64_t rows;
	struct column column[COLUMNS_MAX];
};
#define COLUMNS_NULL ((struct columns){0})

enum {
	COLUMN_E_BAD = 1, /* the words say what is wrong */
};

/* Is a column of this name one of those whose names say their kinds: weight, mask, boxes, points?
 */
bool column_reserved(const char *name, size_t size, enum column_kind *out);
/* An empty cell of one of those. */
struct cell cell_of(const char *name, enum column_kind kind);
/* An empty cell of the target `name`. 0, or COLUMN_E_BAD if no target can be named so. */
int cell_target(struct cell *cell, const char *name, size_t size, struct fault *fault);

/* The first row says which columns there are; all others have the same, in any order.
 * 0, COLUMN_E_BAD or -ENOMEM. */
int columns_add(struct columns *columns, const struct cell *cells, unsigned count,
		struct fault *fault);
void columns_shrink(struct columns *columns); /* no more rows will come */
void columns_deinit(struct columns *columns);
size_t columns_bytes(const struct columns *columns);
void column_digest(const struct column *column, struct digest_state *digest);

/* The array of one sample: of a mask, that is the pipeline's to say. */
struct column_shape {
	const char *dtype;
	uint32_t dims, shape[2];
	size_t bytes;
};
struct column_shape column_shape(const struct column *column);
/* Write one row's array; boxes and points are filled up with NaN. Not of a mask. */
void column_read(const struct column *column, uint64_t row, void *out);
/* The path of a mask, not terminated. */
const char *column_path(const struct column *column, uint64_t row, size_t *size_out);

#endif
