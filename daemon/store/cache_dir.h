/* SPDX-License-Identifier: MIT */
/*
 * The directory in which a daemon keeps bytes that it could get again (cache-dir): it has a folder
 * for each use, which only the daemon's user can read or write, and one owner at a time, by a lock.
 * A CACHEDIR.TAG tells backups to leave it out.
 *
 * Owns the directory's descriptor and the lock, which ends with the process. Before the loop, then
 * any thread. Knows not what is kept.
 */
#ifndef STOKER_STORE_CACHE_DIR_H
#define STOKER_STORE_CACHE_DIR_H

#include <stdint.h>

#include "base/fault.h"

enum {
	CACHE_DIR_E_BUSY = 1, /* another daemon has it */
	CACHE_DIR_E_SYSTEM,   /* it cannot be had, or others may write to it */
};

struct cache_dir {
	int fd, lock;
	char *path;
};
#define CACHE_DIR_NULL ((struct cache_dir){-1, -1, NULL})

/* Make the directory if it is missing (but not its parent) and lock it. 0, CACHE_DIR_E_BUSY or
 * CACHE_DIR_E_SYSTEM. */
int cache_dir_open(struct cache_dir *out, const char *path, struct fault *fault);
/* A descriptor of the folder of this name in it, made if it is missing; the caller's to close. 0 or
 * CACHE_DIR_E_SYSTEM. */
int cache_dir_folder(const struct cache_dir *dir, const char *name, int *fd_out,
		     struct fault *fault);
void cache_dir_close(struct cache_dir *dir); /* accepts CACHE_DIR_NULL, and twice */

#endif
