// SPDX-License-Identifier: MIT
#include "storage/remote/seen.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"

#define ENTRIES 4096 /* shards, mostly; a power of two */

struct seen_versions {
	pthread_mutex_t lock;
	struct seen_entry {
		struct digest key;
		uint64_t since_ns; /* 0: empty */
		struct storage_version version;
	} entries[ENTRIES];
};

int seen_versions_new(struct seen_versions **out)
{
	struct seen_versions *seen = calloc(1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	pthread_mutex_init(&seen->lock, NULL); /* cannot fail on Linux */
	*out = seen;
	return 0;
}

void seen_versions_free(struct seen_versions *seen)
{
	if (!seen)
		return;
	pthread_mutex_destroy(&seen->lock);
	free(seen);
}

static struct seen_entry *seen_entry(struct seen_versions *seen, const struct digest *key)
{
	size_t at;
	memcpy(&at, key->bytes, sizeof(at));
	return &seen->entries[at % ENTRIES];
}

void seen_versions_put(struct seen_versions *seen, const char *key,
		       const struct storage_version *version)
{
	struct digest digest = digest_of(key, strlen(key));
	pthread_mutex_lock(&seen->lock);
	*seen_entry(seen, &digest) = (struct seen_entry){digest, clock_ns(), *version};
	pthread_mutex_unlock(&seen->lock);
}

bool seen_versions_get(struct seen_versions *seen, const char *key, struct storage_version *out)
{
	struct digest digest = digest_of(key, strlen(key));
	pthread_mutex_lock(&seen->lock);
	const struct seen_entry *entry = seen_entry(seen, &digest);
	bool known = entry->since_ns && digest_equal(&entry->key, &digest) &&
		     clock_ns() - entry->since_ns < SEEN_FOR_S * UINT64_C(1000000000);
	if (known)
		*out = entry->version;
	pthread_mutex_unlock(&seen->lock);
	return known;
}
