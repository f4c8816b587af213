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

/* Make it `number`, which `exact` was rounded to. False: it is not finite, or `exact` is a whole
 * number of 64 bits, perhaps an identity, and another one than this float. */
bool label_set_real(struct label *label, float number, long double exact);

struct labels {
	struct number_list numbers; /* rows * count; of floats the bits, as int32_t */
	uint64_t rows;
	uint32_t count; /* of a row; 0 before the first */
	bool real;
};
#define LABELS_NULL ((struct labels){.rows = 0})

enum {
	LABELS_E_COUNT = 1, /* not as many numbers as in the first row */
	LABELS_E_ROUNDED,   /* a whole number among others that are not, and no float32 */
};

/* As a float32. 0 or LABELS_E_ROUNDED. */
int label_real(const struct label *label, float *out);
/* 0, a condition or -ENOMEM. */
int labels_add(struct labels *labels, const struct label *row, uint32_t count);
/* Words for LABELS_E_ROUNDED. */
#define LABELS_ROUNDED                                                                             \
	"a whole number that float32 cannot hold exactly, among numbers that are not whole: give " \
	"it a column of its own (targets)"
/* Whole numbers that are numbers of names become `rank` of each, an order of the same numbers. */
void labels_rename(struct labels *labels, const uint32_t *rank);
void labels_deinit(struct labels *labels);
void labels_shrink(struct labels *labels); /* no more rows will come */
/* Bytes of one row as labels_read() writes it. */
size_t labels_row_bytes(const struct labels *labels);
void labels_read(const struct labels *labels, uint64_t row, void *out);
void labels_digest(const struct labels *labels, struct digest_state *digest);

#endif
