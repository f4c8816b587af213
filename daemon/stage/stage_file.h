/* SPDX-License-Identifier: MIT */
/*
 * The files of a stage: a folder for each origin, in it up to 256 by the first byte of an object's
 * hash, in these a file for each item. A file's name has hashes and its size, so that a directory
 * tells what there is; its head has them again, with the item's version and a checksum over all,
 * which is compared at each read. Written under a temporary name and renamed; not synced, because
 * what is lost with the power is noticed and fetched again.
 * Any thread; blocks.
 */
#ifndef STOKER_STAGE_STAGE_FILE_H
#define STOKER_STAGE_STAGE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "stage/stage.h"

struct stage_file {
	uint64_t origin, mark, size; /* the folder, of the version, of the payload */
	struct digest object;
};

uint64_t stage_file_origin(const struct digest *origin);
uint64_t stage_file_mark(const struct stage_version *version);
/* Bytes on the disk of a file with so many bytes. */
uint64_t stage_file_charge(uint64_t size);

/* 0 or a negative errno, which leaves nothing. `number` is another one at each call. */
int stage_file_write(int folder, const struct stage_file *file, const struct stage_version *version,
		     const struct buffer *bytes, uint64_t number);
/* 0, -ENOENT, another negative errno, or STAGE_FILE_DAMAGED. */
#define STAGE_FILE_DAMAGED 1
int stage_file_read(int folder, const struct stage_file *file, const struct stage_version *version,
		    struct buffer *buffer);
void stage_file_remove(int folder, const struct stage_file *file);

/* Hand each file to `take`, each origin that is pinned to `pin`, and remove what is none. 0, what
 * `take` returned if that is not 0, or a negative errno. */
typedef int stage_take_file(void *context, const struct stage_file *file);
typedef void stage_take_pin(void *context, uint64_t origin);
int stage_files_walk(int folder, stage_take_file *take, stage_take_pin *pin, void *context);

/* Say in the origin's folder that it is pinned, or no longer. 0 or a negative errno. */
int stage_file_pin(int folder, uint64_t origin, bool pinned);

/* The secret of this folder's names, read or made. 0 or a negative errno. */
int stage_file_secret(int folder, struct digest_secret *out);

#endif
