/* SPDX-License-Identifier: MIT */
/*
 * The labels of a dataset: as many numbers in each row. They are int64 until the first one that is
 * not an integer; then all become float32. Held in as few bytes as the largest needs. Filled row by
 * row on one thread; then immutable, any thread.
 */
#ifndef STOKER_DATASET_LABELS_H
#define STOKER_DATASET_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "dataset/number_list.h"

#define LABELS_MAX 4096 /* of one sample */

struct label {
	bool real;
	int64_t whole; /* if not real */
	float number;  /* if real; finite */
};

struct labels {
	struct number_list numbers; /* rows * count; of floats the bits, as int32_t */
	uint64_t rows;
	uint32_t count; /* of a row; 0 before the first */
	bool real;
};
#define LABELS_NULL ((struct labels){.rows = 0})

enum {
	LABELS_E_COUNT = 1, /* not as many numbers as in the first row */
};

int labels_add(struct labels *labels, const struct label *row, uint32_t count); /* or -ENOMEM */
/* Whole numbers that are numbers of names become `rank` of each, an order of the same numbers. */
void labels_rename(struct labels *labels, const uint32_t *rank);
void labels_deinit(struct labels *labels);
void labels_shrink(struct labels *labels); /* no more rows will come */
/* Bytes of one row as labels_read() writes it. */
size_t labels_row_bytes(const struct labels *labels);
void labels_read(const struct labels *labels, uint64_t row, void *out);
void labels_digest(const struct labels *labels, struct digest_state *digest);

#endif
