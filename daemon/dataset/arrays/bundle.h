/* SPDX-License-Identifier: MIT */
/*
 * Files by name out of a folder or out of an archive (.tar, .tar.gz, .zip; told by content), with a
 * limit on what they may hold. Only names that were asked for are read; nothing is ever unpacked
 * onto the disk, and no path of an archive is followed. Blocks; any thread. The door to libarchive.
 */
#ifndef STOKER_DATASET_ARRAYS_BUNDLE_H
#define STOKER_DATASET_ARRAYS_BUNDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/fault.h"

enum {
	BUNDLE_E_OPEN = 1, /* it cannot be opened, or is damaged */
	BUNDLE_E_LIMIT,	   /* the files hold more than is allowed */
	BUNDLE_E_CANCELLED,
};

struct bundle {
	const char *path;
	/* In a folder: where else beneath it the files may stand; NULL ends them, or is all. */
	const char *const *within;
	uint64_t max_bytes; /* of all files together */
	const atomic_bool *cancel;
};

struct bundle_file {
	const char *name; /* the last part of its path; NAME.gz is taken, too, and unpacked */
	bool found;
	struct buffer bytes; /* the caller's to deinit, whatever is returned */
};

/* A file of an archive: the last part of its path, and how it begins. What it returns, if not 0,
 * ends the listing. */
typedef int bundle_seen(void *with, const char *name, const uint8_t *head, size_t size);

/* Is the path of a file the name of an archive? */
bool bundle_is_archive(const char *path);

/* Is one of these files there? Of an archive only the first files are looked at, and what cannot be
 * read has none. */
bool bundle_has(const struct bundle *bundle, const char *const *names);

/* What an archive holds, `head` bytes of each file at most. 0, a condition, -ENOMEM or what `seen`
 * returned. */
int bundle_list(const struct bundle *bundle, size_t head, bundle_seen *seen, void *with,
		struct fault *fault);

/* The bytes of those that are there. 0, a condition or -ENOMEM. */
int bundle_read(const struct bundle *bundle, struct bundle_file *files, size_t count,
		struct fault *fault);

void bundle_files_deinit(struct bundle_file *files, size_t count);

#endif
