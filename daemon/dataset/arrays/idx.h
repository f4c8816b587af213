/* SPDX-License-Identifier: MIT */
/*
 * Parses the idx format, in which MNIST is published: two zero bytes, a type (8 is unsigned bytes,
 * the only one accepted), the number of dimensions, their sizes as 32-bit big-endian numbers, then
 * the values. The bytes are hostile. Pure; any thread.
 */
#ifndef STOKER_DATASET_ARRAYS_IDX_H
#define STOKER_DATASET_ARRAYS_IDX_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

#define IDX_DIMS_MAX 4

enum {
	IDX_E_BAD = 1,
};

struct idx {
	uint32_t dims;
	uint32_t shape[IDX_DIMS_MAX]; /* each at least 1 */
	const uint8_t *data;	      /* all values, borrowed from the file's bytes */
};

/* 0 or IDX_E_BAD. */
int idx_parse(struct idx *out, const uint8_t *bytes, size_t size, struct fault *fault);

#endif
