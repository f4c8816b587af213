/* SPDX-License-Identifier: MIT */
/*
 * Walks the members of a tar archive in their order (ustar, pax, GNU's long names): names the
 * regular files and where their contents lie, as Python's tarfile reads a stream. Reads headers
 * only; the bytes come from the caller's function and are hostile. What cannot be used is an error
 * with the byte at which it stands: an archive that was cut never passes for a short one. One
 * thread at a time. Knows no file, no sample.
 */
#ifndef STOKER_DATASET_SHARDS_TAR_WALK_H
#define STOKER_DATASET_SHARDS_TAR_WALK_H

#include "dataset/shards/tar_header.h"

#define TAR_NAME_MAX 4095
#define TAR_PAX_MAX ((uint64_t)1 << 20) /* bytes of one pax header */

enum {
	TAR_DONE = TAR_E_BAD + 1, /* there is no further member */
};

/* `size` bytes from `offset` on, which lie within the archive; *out stays valid until the next
 * call. 0, TAR_E_BAD or a negative errno. */
typedef int tar_fetch(void *context, uint64_t offset, size_t size, const uint8_t **out,
		      struct fault *fault);

struct tar_walk {
	tar_fetch *fetch;
	void *context;
	uint64_t size;	  /* of the archive */
	uint64_t at;	  /* of the next header */
	bool shared_size; /* what a pax header for all members said */
	uint64_t size_of_all;
	size_t shared_name_size, name_size;
	char shared_name[TAR_NAME_MAX + 1], name[TAR_NAME_MAX + 1];
};

/* A regular file. */
struct tar_member {
	const char *name; /* the walk's until its next call; terminated, but may contain NULs */
	size_t name_size;
	uint64_t header; /* where what belongs to it begins */
	uint64_t offset, size;
};

void tar_walk_begin(struct tar_walk *walk, tar_fetch *fetch, void *context, uint64_t size);
/* 0, TAR_DONE, TAR_E_BAD or a negative errno of fetch(). */
int tar_walk_next(struct tar_walk *walk, struct tar_member *out, struct fault *fault);

#endif
