/* SPDX-License-Identifier: MIT */
/*
 * Samples that are pixels in memory: pictures of one size, 3 bytes a pixel, with their labels. What
 * the kinds of dataset that are arrays of small pictures (.npy, CIFAR, MNIST) fill in when they are
 * opened, and have in common from then on. Owns the memory, which an account limits. Immutable once
 * finished, any number of threads; knows no file and no format.
 */
#ifndef STOKER_DATASET_ARRAYS_ARRAYS_H
#define STOKER_DATASET_ARRAYS_ARRAYS_H

#include "dataset/kind.h"

struct arrays {
	uint64_t count;
	int32_t width, height;
	uint8_t *pixels; /* count x height x width x 3; BUFFER_SLACK bytes stand behind them */
	struct dataset_label label;
	uint8_t *labels;		 /* count x label.bytes */
	char **classes;			 /* class_count names */
	uint64_t class_count;		 /* 0: the labels are none of classes */
	size_t class_bytes;		 /* of their names */
	struct dataset_account *account; /* NULL: nobody counts */
	uint64_t charged;
};

/* What there shall be room for. */
struct arrays_plan {
	uint64_t count, height, width;
	struct dataset_label label;
	const char *from; /* whose samples they are, for errors */
};

/* Numbers of the plan may be anything. 0, DATASET_E_OPEN (no sample, too large, above what the
 * account allows) or -ENOMEM. */
int arrays_new(struct arrays **out, const struct arrays_plan *plan, struct dataset_account *account,
	       struct fault *fault);

/* The classes, by label; each label has to be below their number. Copies the names; NULL if they
 * have none but their numbers. 0, DATASET_E_OPEN or -ENOMEM. */
int arrays_set_classes(struct arrays *arrays, const char *const *names, uint64_t count,
		       struct fault *fault);
/* Classes by their numbers, if the labels look like such: whole, from 0, no more than samples.
 * 0 or -ENOMEM. */
int arrays_find_classes(struct arrays *arrays);

/* The samples from `first` on are gray: each byte of `gray` becomes a pixel. */
void arrays_put_gray(struct arrays *arrays, uint64_t first, uint64_t count, const uint8_t *gray);
/* As published: the plane of red, of green, of blue, sample by sample. */
void arrays_put_planes(struct arrays *arrays, uint64_t first, uint64_t count,
		       const uint8_t *planes);

/* The pixels and labels are there: the facts, with the fingerprint of all of them. 0 or -ENOMEM. */
int arrays_finish(struct arrays *arrays, const char *kind, struct dataset_facts *facts);

size_t arrays_picture_bytes(const struct arrays *arrays);

/* Members of struct dataset_kind; `state` is a struct arrays. */
void arrays_free(void *state);
const char *arrays_class_name(const void *state, uint64_t label);
void arrays_read_label(const void *state, uint64_t sample, void *out);
size_t arrays_path(const void *state, uint64_t sample, char *out, size_t size);
struct image arrays_pixels(const void *state, uint64_t sample);

#endif
