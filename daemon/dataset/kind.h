/* SPDX-License-Identifier: MIT */
/*
 * What a kind of dataset is to dataset.c: one const struct of functions, and the facts that it
 * fills in when it opens. A new kind is a new file and a line in the table of dataset.c. The state
 * is the kind's own; after open it is immutable and used by any number of threads.
 */
#ifndef STOKER_DATASET_KIND_H
#define STOKER_DATASET_KIND_H

#include "dataset/dataset.h"

struct dataset_facts {
	uint64_t count;	      /* at least 1 */
	uint64_t class_count; /* 0: the labels are none of classes */
	uint64_t skipped;
	struct digest fingerprint;
	struct dataset_label label;
	const struct columns *columns; /* what there is beside; of the state */
	/* Of several datasets joined, which look after their files' stamps: how many, which, where
	 * each begins and the last ends (of the state), and whether their samples are files. */
	uint32_t parts;
	struct dataset *const *part;
	const uint64_t *part_first;
	bool files;
	size_t index_bytes;
};

struct dataset_kind {
	const char *name;
	/* Of a description's keys those that it takes, beside path and kind; NULL ends them. */
	const char *const *keys;
	/* Is a path, of a folder or not, one of its own if nobody says so? */
	bool (*suits)(const char *path, bool folder);
	/* As dataset_open(); `spec` has a path and, for its other members, what the kind takes. */
	int (*open)(void **state_out, const struct dataset_spec *spec,
		    struct dataset_progress *progress, struct dataset_facts *facts,
		    struct fault *fault);
	void (*free)(void *state);
	/* As the functions dataset_...(). */
	const char *(*class_name)(const void *state, uint64_t label);
	void (*read_label)(const void *state, uint64_t sample, void *out);
	size_t (*path)(const void *state, uint64_t sample, char *out, size_t size);
	/* One of these two (joined has both): samples are files, or pixels in memory (as
	 * dataset_pixels()). */
	int (*read)(const void *state, uint64_t sample, size_t max_bytes, struct buffer *buffer,
		    struct stamp *stamp_out, struct fault *fault);
	struct image (*pixels)(const void *state, uint64_t sample);
	/* The file of a mask, of a kind whose columns can have one; `path` is of a column. */
	int (*read_mask)(const void *state, const char *path, size_t size, size_t max_bytes,
			 struct buffer *buffer, struct stamp *stamp_out, struct fault *fault);
};

#endif
