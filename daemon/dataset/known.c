// SPDX-License-Identifier: MIT
#include "dataset/known.h"

#include "storage/storage.h"

/* Size, mtime and inode: what has to stay. */
static uint64_t known_identity(const struct storage_version *version)
{
	struct storage_version kept = *version;
	kept.device = 0;
	kept.ctime_ns = 0;
	return storage_version_mark(&kept);
}

bool known_stamp(struct known *known, const struct digest_secret *secret,
		 const struct storage_version *version, const struct buffer *bytes,
		 struct stamp *out)
{
	uint64_t mark = storage_version_mark(version), identity = known_identity(version);
	uint64_t content, first = 0;
	if (atomic_load(&known->version) == mark) {
		content = atomic_load(&known->first) ^ identity;
	} else {
		content = digest_secret_of(secret, bytes->data, bytes->size);
		if (!atomic_compare_exchange_strong(&known->first, &first, content ^ identity) &&
		    first != (content ^ identity))
			return false;
		atomic_store(&known->version, mark);
	}
	*out = (struct stamp){bytes->size, content};
	return true;
}

bool known_stamp_kept(const struct known *known, const struct storage_version *version,
		      struct stamp *out)
{
	if (atomic_load(&known->version) != storage_version_mark(version))
		return false;
	*out = (struct stamp){version->size, atomic_load(&known->first) ^ known_identity(version)};
	return true;
}
