/* SPDX-License-Identifier: MIT */
/*
 * A NumPy array in a file or in memory, and samples made of two of them: pictures and labels. What
 * the kinds "npy" and "npz" have in common. Blocks; any thread.
 */
#ifndef STOKER_DATASET_ARRAYS_NPY_ARRAY_H
#define STOKER_DATASET_ARRAYS_NPY_ARRAY_H

#include <stdbool.h>

#include "dataset/arrays/arrays.h"
#include "dataset/arrays/npy_header.h"

struct npy_array {
	const char *path, *member; /* borrowed, for messages; member NULL: the file is the array */
	struct npy_header header;
	int fd;		      /* owned; -1: the array is in `bytes` */
	const uint8_t *bytes; /* borrowed */
	uint64_t size;
	struct storage_version version; /* of the file */
};
#define NPY_ARRAY_NULL ((struct npy_array){.fd = -1})

/* Both read the header and check that all numbers are there. 0, DATASET_E_OPEN or -ENOMEM; the
 * caller closes `out`, also after a failure. */
int npy_array_open(struct npy_array *out, const struct storage_place *place, struct fault *fault);
int npy_array_take(struct npy_array *out, const char *path, const char *member,
		   const uint8_t *bytes, size_t size, struct fault *fault);
void npy_array_close(struct npy_array *array); /* may be called twice */

/* Read exactly these bytes of the file. 0 or DATASET_E_OPEN. */
int npy_array_read(const struct npy_array *array, uint64_t offset, void *to, size_t size,
		   struct fault *fault);

/* Can the array be pictures: uint8, (N, H, W), (N, H, W, 1) or (N, H, W, 3)? */
bool npy_array_is_pictures(const struct npy_header *header);

/* Make the samples. `labels` may be NULL: then a sample's label is its number. 0, a condition of
 * dataset_open() or -ENOMEM. */
int npy_array_load(struct arrays **out, const struct npy_array *images,
		   const struct npy_array *labels, struct dataset_progress *progress,
		   struct dataset_facts *facts, struct fault *fault);

#endif
