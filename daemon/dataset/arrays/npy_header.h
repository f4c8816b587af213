/* SPDX-License-Identifier: MIT */
/*
 * Parses the header of a NumPy array as numpy.save() writes it (.npy, versions 1 to 3): type, shape
 * and offset of the numbers. The bytes are hostile: a few words of Python's syntax are read and
 * nothing is executed. Pure; any thread.
 */
#ifndef STOKER_DATASET_ARRAYS_NPY_HEADER_H
#define STOKER_DATASET_ARRAYS_NPY_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

#define NPY_DIMS_MAX 4
#define NPY_HEADER_MAX 65536 /* bytes before the numbers */

enum {
	NPY_E_HEADER = 1, /* it is not such a file, or has a type or shape that is not supported */
};

enum npy_type { NPY_UINT8, NPY_UINT16, NPY_INT32, NPY_INT64, NPY_FLOAT32, NPY_FLOAT64, NPY_TYPES };

struct npy_header {
	enum npy_type type;
	unsigned dims; /* at least 1 */
	uint64_t shape[NPY_DIMS_MAX];
	uint64_t offset; /* of the first number in the file */
	uint64_t bytes;	 /* of all numbers */
};

/* `bytes` are the first ones of the file: all, or NPY_HEADER_MAX. 0 or NPY_E_HEADER; the words do
 * not name the file. */
int npy_header_parse(struct npy_header *out, const uint8_t *bytes, size_t size,
		     struct fault *fault);

size_t npy_type_bytes(enum npy_type type);

#endif
