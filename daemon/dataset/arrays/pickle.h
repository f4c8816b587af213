/* SPDX-License-Identifier: MIT */
/*
 * Reads Python pickles, protocols 2 to 5, as far as published datasets need them: dicts, lists,
 * tuples, integers, texts, bytes and NumPy arrays. Nothing is ever executed: a pickle that asks for
 * anything but NumPy's arrays and bytes is refused. The bytes are hostile: there is no recursion,
 * and the number of values is limited. Pure; any thread, one thread at a time for a pickle.
 */
#ifndef STOKER_DATASET_ARRAYS_PICKLE_H
#define STOKER_DATASET_ARRAYS_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

#define PICKLE_VALUES_MAX 1000000u

enum {
	PICKLE_E_BAD = 1, /* damaged or refused; the words have the offset */
};

enum pickle_kind {
	PICKLE_NONE,
	PICKLE_BOOL,
	PICKLE_INT,
	PICKLE_TEXT,  /* UTF-8, unchecked */
	PICKLE_BYTES, /* or a str of Python 2 */
	PICKLE_TUPLE,
	PICKLE_LIST,
	PICKLE_DICT, /* keys and values in turn */
	PICKLE_GLOBAL,
	PICKLE_DTYPE,
	PICKLE_ARRAY,
};

enum pickle_global {
	PICKLE_RECONSTRUCT, /* numpy.core.multiarray._reconstruct */
	PICKLE_FROMBUFFER,  /* numpy.core.numeric._frombuffer */
	PICKLE_NDARRAY,
	PICKLE_DTYPE_CLASS,
	PICKLE_ENCODE, /* _codecs.encode: how protocol 2 writes bytes */
};

/* A value refers to others by their numbers in the pickle. */
struct pickle_value {
	enum pickle_kind kind;
	union {
		int64_t whole; /* and bool */
		enum pickle_global global;
		struct {
			const uint8_t *data;
			uint64_t size;
		} bytes;
		struct {
			uint32_t *items; /* owned */
			uint64_t count, capacity;
		} list; /* and tuple and dict */
		struct {
			uint32_t shape, dtype, data; /* 0: not known yet */
			bool fortran;
		} array;
		uint32_t dtype; /* its name */
	};
};

struct pickle {
	const uint8_t *bytes; /* borrowed: the values point into it */
	uint64_t size, at;
	struct pickle_value *values; /* number 0 is a None */
	uint64_t value_count, value_capacity;
	uint32_t *stack;
	uint64_t stack_count, stack_capacity;
	uint64_t *marks;
	uint64_t mark_count, mark_capacity;
	uint32_t *memo; /* 0: an undefined entry */
	uint64_t memo_count, memo_capacity, memo_next;
	uint8_t **encoded; /* owned: bytes that the pickle has as text */
	uint64_t encoded_count, encoded_capacity, encoded_bytes;
	struct fault *fault;
};
#define PICKLE_NULL ((struct pickle){0})

/* 0, PICKLE_E_BAD or -ENOMEM; the caller deinits `out` also after a failure. *root_out is the value
 * that was pickled. */
int pickle_parse(struct pickle *out, const void *bytes, size_t size,
		 const struct pickle_value **root_out, struct fault *fault);
void pickle_deinit(struct pickle *pickle);

/* The value of a dict under this key, text or bytes; NULL if there is none or it is not a dict. */
const struct pickle_value *pickle_get(const struct pickle *pickle, const struct pickle_value *dict,
				      const char *key);
const struct pickle_value *pickle_item(const struct pickle *pickle, const struct pickle_value *list,
				       uint64_t item);

/* An array of uint8 with two dimensions: element (r, c) is data[r * row + c * column]. */
struct pickle_matrix {
	const uint8_t *data;
	uint64_t rows, columns;
	uint64_t row, column;
};
bool pickle_matrix(const struct pickle *pickle, const struct pickle_value *value,
		   struct pickle_matrix *out);

#endif
