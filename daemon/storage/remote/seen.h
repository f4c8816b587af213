/* SPDX-License-Identifier: MIT */
/*
 * The versions of objects that answers said lately, so that a picture that is kept in memory costs
 * no request at each read while its shard is being read. A table of fixed size; an entry makes
 * place for a newer one. Any number of threads.
 */
#ifndef STOKER_STORAGE_REMOTE_SEEN_H
#define STOKER_STORAGE_REMOTE_SEEN_H

#include <stdbool.h>

#include "storage/storage.h"

#define SEEN_FOR_S 10

struct seen_versions;

int seen_versions_new(struct seen_versions **out); /* 0 or -ENOMEM */
void seen_versions_free(struct seen_versions *seen);
void seen_versions_put(struct seen_versions *seen, const char *key,
		       const struct storage_version *version);
/* False if nothing was said within SEEN_FOR_S. */
bool seen_versions_get(struct seen_versions *seen, const char *key, struct storage_version *out);

#endif
