/* SPDX-License-Identifier: MIT */
/*
 * The header of a NumPy array as numpy.save() writes it (.npy, versions 1 to 3): what the numbers
 * are, in which shape, and where they begin. Text from outside: a few words of Python's syntax are
 * read and nothing is executed. Pure; any thread.
 */
#ifndef STOKER_DATASET_ARRAYS_NPY_HEADER_H
#define STOKER_DATASET_ARRAYS_NPY_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

#define NPY_DIMS_MAX 4
#define NPY_HEADER_MAX 65536 /* bytes that may stand before the numbers */

enum {
	NPY_E_HEADER = 1, /* it is no such file, or holds what stoker does not read */
};

enum npy_type { NPY_UINT8, NPY_INT32, NPY_INT64, NPY_FLOAT32, NPY_FLOAT64, NPY_TYPES };

struct npy_header {
	enum npy_type type;
	unsigned dims; /* at least 1 */
	uint64_t shape[NPY_DIMS_MAX];
	uint64_t offset; /* where the numbers begin */
	uint64_t bytes;	 /* of all of them */
};

/* `bytes` is how the file begins: all of it, or NPY_HEADER_MAX bytes. 0 or NPY_E_HEADER; the words
 * do not name the file. */
int npy_header_parse(struct npy_header *out, const uint8_t *bytes, size_t size,
		     struct fault *fault);

const char *npy_type_name(enum npy_type type);
size_t npy_type_bytes(enum npy_type type);

#endif
