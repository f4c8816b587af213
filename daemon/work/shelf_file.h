/* SPDX-License-Identifier: MIT */
/*
 * One file of the shelf (shelf.h): the scan indexes of one dataset, in the machine's byte order.
 *
 *	header (its last 16 bytes: XXH3-128 of what is before), then records with rising samples:
 *	XXH3-128 of the rest, sample, stamp of its file, size (u32), 4 bytes of zero, the index
 *
 * Streams in both directions through one block of memory. What is read is hostile: every size is
 * held against the file's own before it is used, a record counts only with its sum, and reading
 * ends at the first that does not fit. Whether an index is one of its picture is not known here:
 * scan_index_open() looks when it is used. One thread at a time; knows no name and no directory.
 */
#ifndef STOKER_WORK_SHELF_FILE_H
#define STOKER_WORK_SHELF_FILE_H

#include "base/fault.h"
#include "work/shelf.h"

/* Read `fd` from its start into `scans`. 0, SHELF_E_DAMAGED (what stands before is in `scans`),
 * SHELF_E_OTHER, SHELF_E_SYSTEM, SHELF_E_STOPPED or -ENOMEM. */
int shelf_file_read(int fd, const struct shelf_key *key, struct scans *scans,
		    const struct shelf_until *until, struct shelf_sum *out, struct fault *fault);
/* Write all of `scans` to the empty file `fd`, and to the disk. 0, SHELF_E_SYSTEM, SHELF_E_STOPPED
 * or -ENOMEM. */
int shelf_file_write(int fd, const struct shelf_key *key, const struct scans *scans,
		     const struct shelf_until *until, struct shelf_sum *out, struct fault *fault);

#endif
