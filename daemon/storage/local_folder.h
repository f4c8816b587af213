/* SPDX-License-Identifier: MIT */
/*
 * An opened folder of local storage: opens and looks at what lies beneath it, as far as its reader
 * may. Blocks; any number of threads.
 */
#ifndef STOKER_STORAGE_LOCAL_FOLDER_H
#define STOKER_STORAGE_LOCAL_FOLDER_H

#include <sys/stat.h>
#include <time.h>

#include "storage/storage.h"

struct local {
	int fd;				  /* of the folder */
	uint64_t resolve;		  /* how keys are: RESOLVE_... */
	const struct credentials *reader; /* who must be able to, as well; NULL: nobody else */
};

/* A descriptor of what stands at a place, or a negative errno. With `cached`, RESOLVE_CACHED, only
 * what the kernel has in memory: it does not block. */
int local_open_place(const struct storage_place *place, int flags, uint64_t cached);
/* As openat2_retrying(), from the folder on. */
int local_open_at(const struct local *local, const char *key, int flags);
/* stat() of what `key` leads to. 0 or a negative errno, as local_open_at(). */
int local_stat(const struct local *local, const char *key, struct stat *out);
struct storage_version local_version_of(const struct stat *stat);

int64_t nanoseconds_of(struct timespec time);

#endif
