/* SPDX-License-Identifier: MIT */
/*
 * The storage "slow": local files (local.h) beneath folders that are named as slow, such as a mount
 * of NFS. What is read of them for a sample is kept on the disk (stage/stage.h), in the version
 * that the file has at that moment: each read asks for it first, as local.h does, which is also the
 * proof that the file may be read. Many reads are worth having under way. Nothing else differs from
 * local.h. Any number of threads; blocks.
 */
#ifndef STOKER_STORAGE_SLOW_H
#define STOKER_STORAGE_SLOW_H

#include "storage/storage.h"

extern const struct storage storage_slow;

/* Treat this folder and all beneath it as slow. Before any thread reads. 0 or -ENOMEM. */
int slow_add_root(const char *path);
void slow_forget_roots(void); /* when nobody reads any more */

#endif
