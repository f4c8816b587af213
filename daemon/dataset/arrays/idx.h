/* SPDX-License-Identifier: MIT */
/*
 * The idx format, in which MNIST is published: two zero bytes, a type (8: unsigned bytes, the only
 * one taken), a number of dimensions, their sizes as 32 bits each, the big end first, then the
 * values. The bytes are hostile. Pure; any thread.
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
	const uint8_t *data;	      /* borrowed from the file's bytes: all values */
};

/* 0 or IDX_E_BAD. */
int idx_parse(struct idx *out, const uint8_t *bytes, size_t size, struct fault *fault);

#endif
