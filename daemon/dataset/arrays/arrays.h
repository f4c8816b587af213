/* SPDX-License-Identifier: MIT */
/*
 * Samples that are pixels in memory: pictures of one size, 3 bytes a pixel or of a form of
 * their own, with their labels. The kinds that are arrays of small pictures (.npy, .npz, CIFAR,
 * MNIST) fill one in when they open and share its functions from then on. Owns the memory, which an
 * account limits. Immutable once finished, any number of threads; knows no file and no format.
 */
#ifndef STOKER_DATASET_ARRAYS_ARRAYS_H
#define STOKER_DATASET_ARRAYS_ARRAYS_H

#include "dataset/kind.h"

struct arrays {
	uint64_t count;
	int32_t width, height;
	struct image_form form;
	uint8_t *pixels; /* count x height x width x those, then BUFFER_SLACK bytes */
	struct dataset_label label;
	uint8_t *labels;		 /* count x label.bytes */
	char **classes;			 /* class_count names */
	uint64_t class_count;		 /* 0: the labels are not classes */
	size_t class_bytes;		 /* memory of their names */
	struct dataset_account *account; /* NULL: memory is not limited */
	uint64_t charged;
};

/* Memory to allocate. */
struct arrays_plan {
	uint64_t count, height, width;
	struct image_form form;
	struct dataset_label label;
	const char *from; /* the dataset's path, for messages */
};

/* The numbers of the plan may be hostile. 0, DATASET_E_OPEN (no sample, too large, more than the
 * account allows) or -ENOMEM. */
int arrays_new(struct arrays **out, const struct arrays_plan *plan, struct dataset_account *account,
	       struct fault *fault);

/* Set the classes; each label must be below their number. Copies the names; NULL: they are called
 * by their numbers. 0, DATASET_E_OPEN or -ENOMEM. */
int arrays_set_classes(struct arrays *arrays, const char *const *names, uint64_t count,
		       struct fault *fault);
/* If the labels look like classes (integers from 0 on, below the number of samples), set classes
 * called by their numbers. 0 or -ENOMEM. */
int arrays_find_classes(struct arrays *arrays);

/* Write the samples from `first` on from gray pictures: each byte of `gray` becomes a pixel. */
void arrays_put_gray(struct arrays *arrays, uint64_t first, uint64_t count, const uint8_t *gray);
/* Put in pixels of planes: of each sample all red, then all green, then all blue bytes. */
void arrays_put_planes(struct arrays *arrays, uint64_t first, uint64_t count,
		       const uint8_t *planes);

/* All pixels and labels are written: fill in the facts, with the fingerprint. 0 or -ENOMEM. */
int arrays_finish(struct arrays *arrays, const char *kind, struct dataset_facts *facts);

size_t arrays_picture_bytes(const struct arrays *arrays);

/* For the rows of such kinds; `state` is a struct arrays. */
void arrays_free(void *state);
const char *arrays_class_name(const void *state, uint64_t label);
void arrays_read_label(const void *state, uint64_t sample, void *out);
size_t arrays_path(const void *state, uint64_t sample, char *out, size_t size);
struct image arrays_pixels(const void *state, uint64_t sample);

#endif
