/* SPDX-License-Identifier: MIT */
/*
 * The sizes of a dataset's pictures, kept on the disk beside its seek indexes (keep_file.h) from
 * one attach to the next. Each has the mark of the version of the file that it was read of
 * (dataset_mark()), so one of a file that has changed since is known to be of another. Blocks; the
 * entries may be used by any number of threads, each by one. Reads no picture.
 */
#ifndef STOKER_SURVEY_KEPT_SIZES_H
#define STOKER_SURVEY_KEPT_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/image.h"
#include "decode/decode.h"
#include "storage/keep_file.h"

struct kept_size {
	uint64_t mark;		/* 0: nothing is kept of it */
	struct image_size size; /* zeros: the file has no header that can be read */
};

struct kept_sizes {
	uint64_t count;
	struct kept_size *sizes; /* in `memory` */
	void *memory;		 /* owned */
};
#define KEPT_SIZES_NULL ((struct kept_sizes){0})

/* Facts that the sizes depend on beside the files. */
struct kept_sizes_key {
	struct digest dataset; /* identity */
	const char *path;      /* of the dataset: a copy elsewhere has files of other versions */
	bool exif;
	struct image_form form;
	const struct decode_limits *limits;
};

/* The file in the folder (NULL: none) that they are kept in. */
struct keep_file kept_sizes_file(const char *folder, uint32_t owner,
				 const struct kept_sizes_key *key);
/* Read the sizes of so many samples; without a file that can be used each is of none. 0 or
 * -ENOMEM. */
int kept_sizes_load(struct kept_sizes *out, const struct keep_file *file, uint64_t count);
/* Write them. True: they are there now. */
bool kept_sizes_save(const struct kept_sizes *sizes, const struct keep_file *file);
/* Take the sizes over from the bytes of a file, which are then `out`'s. False: it is none, or of
 * another number of samples. */
bool kept_sizes_parse(struct kept_sizes *out, const struct keep_head *head, uint8_t *bytes,
		      uint64_t size, uint64_t count);
void kept_sizes_deinit(struct kept_sizes *sizes); /* accepts KEPT_SIZES_NULL, and twice */

#endif
