/* SPDX-License-Identifier: MIT */
/*
 * One file of CIFAR, in either form: pictures of three planes of 32 x 32 with a label each, or
 * class names. Pure parsers of hostile bytes, which are borrowed as long as the result is used.
 */
#ifndef STOKER_DATASET_ARRAYS_CIFAR_FILE_H
#define STOKER_DATASET_ARRAYS_CIFAR_FILE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/fault.h"
#include "dataset/arrays/pickle.h"

#define CIFAR_PLANES (3 * 32 * 32)

enum {
	CIFAR_FILE_E_BAD = 1,
};

/* A record of the binary form: labels of one byte each, then the planes. */
struct cifar_record {
	unsigned labels;
	unsigned at[2]; /* position of the fine label, of the coarse one */
};

struct cifar_file {
	uint64_t count;
	struct pickle_matrix planes; /* count x CIFAR_PLANES */
	const uint8_t *label_bytes;  /* of the binary form, label_step apart; else NULL */
	size_t label_step;
	struct pickle pickle;
	const struct pickle_value *labels; /* of the pickled form: a list */
};

/* Both return 0, CIFAR_FILE_E_BAD or -ENOMEM. `key` is that of the labels in the pickled dict. */
int cifar_file_unpickle(struct cifar_file *out, const struct buffer *bytes, const char *key,
			struct fault *fault);
int cifar_file_split(struct cifar_file *out, const struct buffer *bytes,
		     const struct cifar_record *record, int coarse, struct fault *fault);
void cifar_file_deinit(struct cifar_file *file); /* may be called twice, and on zeroes */

/* The planes and the label of a sample. */
int64_t cifar_file_read(const struct cifar_file *file, uint64_t sample,
			uint8_t planes[CIFAR_PLANES]);

struct cifar_names {
	char **names; /* owned */
	uint64_t count, capacity;
};
#define CIFAR_NAMES_NULL ((struct cifar_names){0})

int cifar_names_unpickle(struct cifar_names *out, const struct buffer *bytes, const char *key,
			 struct fault *fault);
int cifar_names_split(struct cifar_names *out, const struct buffer *bytes, struct fault *fault);
void cifar_names_deinit(struct cifar_names *names);

#endif
