/* SPDX-License-Identifier: MIT */
/*
 * The opened folder of local storage, and listing what lies in it. Blocks; any number of threads.
 */
#ifndef STOKER_STORAGE_LOCAL_LIST_H
#define STOKER_STORAGE_LOCAL_LIST_H

#include <sys/stat.h>

#include "storage/storage.h"

struct local {
	int fd;				  /* of the folder */
	uint64_t resolve;		  /* how keys are: RESOLVE_... */
	const struct credentials *reader; /* who must be able to, as well; NULL: nobody else */
};

/* As openat2_retrying(), from the folder on. */
int local_open_at(const struct local *local, const char *key, int flags);
/* stat() of what `key` leads to. 0 or a negative errno, as local_open_at(). */
int local_stat(const struct local *local, const char *key, struct stat *out);
struct storage_version local_version_of(const struct stat *stat);

/* list() of the storage; `state` is a struct local. */
int local_list(const void *state, const char *folder, storage_take *take, void *context,
	       struct fault *fault);

#endif
