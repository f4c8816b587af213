/* SPDX-License-Identifier: MIT */
/*
 * Bundles: reads files by name from a folder or from an archive (.tar, .tar.gz, .zip, recognised by
 * content) into limited memory. Only files that were asked for are read; nothing is ever unpacked
 * to disk, and no path within an archive is followed. Blocks; any thread.
 */
#ifndef STOKER_DATASET_ARRAYS_BUNDLE_H
#define STOKER_DATASET_ARRAYS_BUNDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/fault.h"
#include "dataset/progress.h"
#include "storage/storage.h"

enum {
	BUNDLE_E_OPEN = 1, /* it cannot be opened, or is damaged */
	BUNDLE_E_LIMIT,	   /* the files are larger than allowed */
	BUNDLE_E_CANCELLED,
};

struct bundle {
	struct storage_place place;
	/* Folders beneath that one in which the files may also lie; NULL ends them. NULL: none. */
	const char *const *within;
	uint64_t max_bytes;		   /* of all files together */
	struct dataset_progress *progress; /* may end it, and is charged what is read */
};

struct bundle_file {
	const char *name; /* the last part of its path; NAME.gz is also accepted, and unpacked */
	bool found;
	struct buffer bytes; /* the caller's to deinit, also after a failure */
};

/* Called for each file of an archive, with the last part of its path and its first bytes. A return
 * other than 0 ends the listing. */
typedef int bundle_seen(void *with, const char *name, const uint8_t *head, size_t size);

/* Does the path end like an archive's? */
bool bundle_is_archive(const char *path);

/* Is one of these files in the bundle? Of an archive only the first files are looked at. False if
 * it cannot be read. */
bool bundle_has(const struct bundle *bundle, const char *const *names);

/* Call `seen` for each file of an archive, with at most `head` bytes of it. 0, a condition, -ENOMEM
 * or what `seen` returned. */
int bundle_list(const struct bundle *bundle, size_t head, bundle_seen *seen, void *with,
		struct fault *fault);

/* Read those files that exist, and set their `found`. 0, a condition or -ENOMEM. */
int bundle_read(const struct bundle *bundle, struct bundle_file *files, size_t count,
		struct fault *fault);

void bundle_files_deinit(struct bundle_file *files, size_t count);

#endif
