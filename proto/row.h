/* SPDX-License-Identifier: MIT */
/*
 * Rows of LISTING and REPORT as structs, derived from proto/rows.h, and the one function that packs
 * them. Pure: no socket, no loop, any thread.
 */
#ifndef STOKER_PROTO_ROW_H
#define STOKER_PROTO_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/rows.h"

struct packer;

enum unit {
	UNIT_NONE,
	UNIT_BYTES,
	UNIT_NS,
	UNIT_SECONDS,
	UNIT_RATE,	/* a second */
	UNIT_SHARE,	/* 0 to 1 */
	UNIT_REFERENCE, /* a number; 0: to none */
};

/* Borrowed members of a row must live until it is packed. A column that is MAYBE is left out if it
 * is ROW_NONE, a number below 0, or an empty text of the type hex; a text, if it is NULL. */
typedef uint64_t row_uint;
typedef bool row_boolean;
typedef double row_number;
typedef const char *row_text;
typedef char row_hex[33];
typedef const double *row_three;
typedef const struct packer *row_value;	  /* holds one value */
typedef const struct packer *row_entries; /* holds keys and values in turn */
#define ROW_NONE UINT64_MAX

/* struct row_stream and so on, a member for each column. */
#define ROW_MEMBER(type, key, need, unit, title, help) row_##type key;
#define ROW_STRUCT(NAME, name, where)                                                              \
	struct row_##name {                                                                        \
		NAME##_ROW(ROW_MEMBER)                                                             \
	};
ROW_TABLE(ROW_STRUCT)
#undef ROW_STRUCT
#undef ROW_MEMBER

enum row_kind {
#define ROW_ENUM(NAME, name, where) ROW_##NAME,
	ROW_TABLE(ROW_ENUM)
#undef ROW_ENUM
};

/* The key of a column, as a text; the compiler refuses one that the table does not have. */
#define ROW_KEY(name, key) (&#key[0 * sizeof(((struct row_##name *)NULL)->key)])

enum row_type {
	ROW_IS_uint,
	ROW_IS_boolean,
	ROW_IS_number,
	ROW_IS_text,
	ROW_IS_hex,
	ROW_IS_three,
	ROW_IS_value,
	ROW_IS_entries,
};

struct row_column {
	const char *key;
	enum row_type type;
	bool maybe; /* it may be left out */
	enum unit unit;
	const char *title, *help;
	size_t offset; /* in the row's struct */
};

struct row_columns {
	const struct row_column *column;
	size_t count;
};

struct row_columns row_columns(enum row_kind kind);
/* The column of `key`; NULL: rows of this kind have none. */
const struct row_column *row_find(enum row_kind kind, const char *key);
/* The column that the next word of `*keys` names, and `*keys` behind that word; NULL at the end.
 * Words end in a blank or a slash; one that names no column is a mistake of the caller. */
const struct row_column *row_next(enum row_kind kind, const char **keys);
/* A map: the columns of `row`, a struct of this kind, in their order. */
void row_pack(struct packer *packer, enum row_kind kind, const void *row);

#endif
