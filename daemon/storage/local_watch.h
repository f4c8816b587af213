/* SPDX-License-Identifier: MIT */
/*
 * Changes of local files that the kernel tells of without being asked again. Only where it sees
 * each change: not on NFS, FUSE and the like, whose files other machines change.
 */
#ifndef STOKER_STORAGE_LOCAL_WATCH_H
#define STOKER_STORAGE_LOCAL_WATCH_H

#include <stdbool.h>

#include "storage/storage.h"

/* Have an inotify descriptor told what changes in a folder beneath an opened one ("": in that
 * itself): names that come and go, files that are written to, rights. Blocks. The number of the
 * watch, from 1 on, the same for one folder, or a negative errno: -ENOTSUP where the kernel does
 * not see it, -ELOOP behind a link, -ENOSPC: too many. */
int local_watch(const struct storage_folder *folder, const char *key, int inotify);

/* Does an opened folder of mounted storage lie on another file system than those of this machine
 * alone, so that each call may wait for a server? Blocks. */
bool local_is_far(const struct storage_folder *folder);

/* The version of what stands at a place. With `wait` it blocks, and -ENOTSUP says that the kernel
 * does not see each change of it. Without, it is told from what the kernel has in memory, on any
 * thread: of a place that was asked about with `wait` before. 0 or a negative errno. */
int local_peek(const struct storage_place *place, bool wait, struct storage_version *out);

#endif
