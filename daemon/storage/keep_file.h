/* SPDX-License-Identifier: MIT */
/*
 * A file of what was found in a dataset when it was opened, kept on the disk in the daemon's own
 * folder beside the seek indexes, so that the same description opens again without a walk. It is
 * named by the description and its owner (base/owner.h), whose own or that of all is read. Keeping
 * is not needed for anything: what goes wrong is passed over, and there is a walk again.
 *
 * The folder belongs to the daemon's user alone (index_store.h checks it), so a checksum is enough:
 * it tells a file that was cut. Blocks; any thread. Knows no budget: the index store trims.
 */
#ifndef STOKER_STORAGE_KEEP_FILE_H
#define STOKER_STORAGE_KEEP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"

struct keep_file {
	const char *folder; /* borrowed; NULL: nothing is kept */
	const char *ending; /* static: of the file's name, and so of what is in it */
	uint32_t owner;
	struct digest name;
};

/* The head of all of them, in the machine's byte order. */
struct keep_head {
	char magic[8];
	uint32_t version, order;
	struct digest name;
};
struct keep_head keep_head_of(const struct keep_file *file, const char magic[8], uint32_t version);

/* Rest of what was read. */
struct keep_source {
	const uint8_t *at;
	uint64_t left;
};

/* All of it but the checksum, if that is right and it begins with this head; the caller's. NULL:
 * there is none that can be used. */
uint8_t *keep_file_read(const struct keep_file *file, const struct keep_head *head,
			uint64_t *size_out);
/* Tells whether bytes in memory are such a file. */
bool keep_file_is_whole(const struct keep_head *head, const uint8_t *data, uint64_t size);
/* `count` entries of `size` bytes, or NULL if they are not there. */
const void *keep_take(struct keep_source *source, uint64_t count, size_t size);

struct keep_sink;

/* A file that takes the place of what is there when it is ended; NULL: it cannot be made. */
struct keep_sink *keep_sink_begin(const struct keep_file *file);
void keep_put(struct keep_sink *sink, const void *data, uint64_t count, size_t size);
/* With the checksum. True: it is there now. NULL is none. */
bool keep_sink_end(struct keep_sink *sink);

#endif
