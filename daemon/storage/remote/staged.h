/* SPDX-License-Identifier: MIT */
/*
 * Objects as stage/stage.h keeps them on the disk, before the server is asked: what is read for a
 * sample comes from there if it is kept, in the version that the server told this opened folder.
 * So whoever opens a folder proves to the server that it may read an object once, before it gets
 * that from the disk, and goes on with the version that it began with. What lies beside a range and
 * is read soon comes by the same request, if there is room for it. Any number of threads; blocks.
 * Knows no file.
 */
#ifndef STOKER_STORAGE_REMOTE_STAGED_H
#define STOKER_STORAGE_REMOTE_STAGED_H

#include "storage/storage.h"

/* For the rows of the storages; `state` is a struct remote. */
int staged_open(void **state_out, const struct storage_place *place, struct fault *fault);
void staged_close(void *state);
int staged_read_range(const void *state, const char *key, struct storage_range range,
		      uint64_t max_bytes, struct buffer *buffer,
		      struct storage_version *version_out, struct fault *fault);
int staged_version(const void *state, const char *key, struct storage_version *out,
		   struct fault *fault);

#endif
