/* SPDX-License-Identifier: MIT */
/*
 * The format of a file of the index store (index_store.h): the seek indexes of one dataset, in the
 * machine's byte order.
 *
 *	header (its last 16 bytes: XXH3-128 of the bytes before), then records, by rising sample:
 *	XXH3-128 of the rest, sample, stamp of its file, size (u32), 4 bytes of zero, the index
 *
 * The header has the secret of the stamps, so nobody but the daemon's user may read the file.
 *
 * Reads and writes through one block of memory. What is read is hostile: every size is checked
 * against the file's before it is used, a record is used only if its checksum is right, and reading
 * ends at the first one that is not. Whether an index fits its picture is not checked here:
 * seek_index_open() does when it is used. One thread at a time; knows no name and no directory.
 */
#ifndef STOKER_STORE_INDEX_STORE_FILE_H
#define STOKER_STORE_INDEX_STORE_FILE_H

#include "base/fault.h"
#include "store/index_store.h"

/* Read `fd` from its start into the set, and the secret into the key. 0, INDEX_STORE_E_DAMAGED (the
 * records before the damage are in the set), INDEX_STORE_E_OTHER, INDEX_STORE_E_SYSTEM,
 * INDEX_STORE_E_STOPPED or -ENOMEM. */
int index_store_file_read(int fd, struct index_store_key *key, struct seek_index_set *set,
			  const struct index_store_until *until, struct index_store_sum *out,
			  struct fault *fault);
/* Write the set to the empty file `fd`, and sync it. 0, INDEX_STORE_E_SYSTEM, INDEX_STORE_E_FULL,
 * INDEX_STORE_E_STOPPED or -ENOMEM. */
int index_store_file_write(int fd, const struct index_store_key *key,
			   const struct seek_index_set *set, const struct index_store_until *until,
			   struct index_store_sum *out, struct fault *fault);

/* The condition of a write that failed with this errno. */
int index_store_file_condition(int error);

#endif
