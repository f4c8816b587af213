/* SPDX-License-Identifier: MIT */
/*
 * Lists what lies in a folder of local storage. Blocks; any number of threads.
 */
#ifndef STOKER_STORAGE_LOCAL_LIST_H
#define STOKER_STORAGE_LOCAL_LIST_H

#include "storage/storage.h"

/* list() of the storage; `state` is a struct local (local_folder.h). */
int local_list(const void *state, const char *folder, const struct storage_taker *taker,
	       struct fault *fault);

#endif
