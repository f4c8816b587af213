/* SPDX-License-Identifier: MIT */
/*
 * The columns of a dataset besides path and label: each has a name and a kind, and a cell for every
 * sample. A cell of numbers has as many in every row; boxes, points and bytes are lists of any
 * length, and so are instances; a mask is the path of a second picture. Filled row by row on one
 * thread; then immutable, any thread. Knows no text format.
 */
#ifndef STOKER_DATASET_COLUMN_H
#define STOKER_DATASET_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/fault.h"
#include "dataset/labels.h"
#include "proto/ring_layout.h"

#define COLUMNS_MAX (SEGMENT_NARROW_FIELDS - 3) /* besides image, label and index */
#define COLUMN_NAME_MAX 16			/* the final NUL included, as in a ring's header */

#define COLUMN_INSTANCES_NAME "instances"
#define COLUMN_MASK16 "mask16"	     /* a mask whose numbers have 16 bits */
#define COLUMN_PANOPTIC "panoptic"   /* a mask of COCO's: R + 256 G + 65536 B is an id */
#define COLUMN_SEGMENTS "segment_id" /* the target that names the ids of a panoptic mask */

enum column_kind {
	COLUMN_NUMBERS,
	COLUMN_MASK,	  /* the path of a second picture */
	COLUMN_BOXES,	  /* x0, y0, x1, y1 of each, in pixels of the sample's picture */
	COLUMN_POINTS,	  /* x, y of each */
	COLUMN_BYTES,	  /* of any kind: a text */
	COLUMN_INSTANCES, /* masks of instances (instance_list.h) */
};

/* One row's entry for one column; all pointers are borrowed. */
struct cell {
	char name[COLUMN_NAME_MAX];
	enum column_kind kind;
	const char *text; /* of a mask: the path; of bytes and instances: these */
	size_t text_size;
	const struct label *numbers; /* of the other kinds */
	uint32_t count;
};

struct column {
	char name[COLUMN_NAME_MAX];
	enum column_kind kind;
	struct labels numbers; /* of COLUMN_NUMBERS */
	/* Of the other kinds: */
	uint8_t *data; /* floats, paths or bytes, one row after the other ... */
	uint64_t size, capacity;
	uint64_t *ends; /* ... and the end of each row in it */
	uint64_t rows, ends_capacity;
	uint64_t widest; /* bytes of the longest row; of instances, how many a row has at most */
};

struct columns {
	unsigned count;
	uint64_t rows;
	struct column column[COLUMNS_MAX];
};
#define COLUMNS_NULL ((struct columns){0})

enum {
	COLUMN_E_BAD = 1, /* a row does not fit the columns; the words say why */
};

/* Is this one of the names that imply a kind: weight, mask, boxes and the like? */
bool column_reserved(const char *name, size_t size, enum column_kind *out);
/* An empty cell of such a column. */
struct cell cell_of(const char *name, enum column_kind kind);
/* An empty cell of the target `name`. 0, or COLUMN_E_BAD if the name is not allowed. */
int cell_target(struct cell *cell, const char *name, size_t size, struct fault *fault);

/* Add one row. The first defines the columns; all others must have the same ones, in any order.
 * 0, COLUMN_E_BAD or -ENOMEM. */
int columns_add(struct columns *columns, const struct cell *cells, unsigned count,
		struct fault *fault);
void columns_shrink(struct columns *columns); /* no more rows will come */
void columns_deinit(struct columns *columns);
size_t columns_bytes(const struct columns *columns);
void column_digest(const struct column *column, struct digest_state *digest);

/* The shape of one sample's array. Not of a mask and instances, whose shape is the pipeline's. */
struct column_shape {
	const char *dtype;
	uint32_t dims, shape[2];
	size_t bytes;
};
struct column_shape column_shape(const struct column *column);
/* Write one row's array; boxes and points are padded with NaN, bytes with 0. Not of a mask
 * and instances. */
void column_read(const struct column *column, uint64_t row, void *out);
/* The column of boxes; NULL: there is none. */
const struct column *columns_boxes(const struct columns *columns);
/* One row's boxes or points, as long as the column lives; `count_out` numbers. */
const float *column_list(const struct column *column, uint64_t row, uint32_t *count_out);
/* Bytes of a number of a mask: 1, of mask16 2, of panoptic 4. */
unsigned column_mask_bytes(const struct column *column);
/* The column of numbers of that name; NULL: there is none of whole numbers. */
const struct column *columns_numbers(const struct columns *columns, const char *name);
/* Is it one of the row's whole numbers? */
bool column_has_number(const struct column *column, uint64_t row, int64_t number);
/* The path of a mask, not terminated. */
const char *column_path(const struct column *column, uint64_t row, size_t *size_out);
/* One row's list of instances, as long as the column lives. */
const uint8_t *column_instances(const struct column *column, uint64_t row, size_t *size_out);

#endif
