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
	if (atomic_load(&known->version) != storage_version_mark(version))
		return known_stamp_hashed(known, secret, version, bytes, out);
	*out = (struct stamp){bytes->size, atomic_load(&known->first) ^ known_identity(version)};
	return true;
}

bool known_stamp_hashed(struct known *known, const struct digest_secret *secret,
			const struct storage_version *version, const struct buffer *bytes,
			struct stamp *out)
{
	uint64_t content = digest_secret_of(secret, bytes->data, bytes->size), first = 0;
	uint64_t wanted = content ^ known_identity(version);
	if (!atomic_compare_exchange_strong(&known->first, &first, wanted) && first != wanted)
		return false;
	atomic_store(&known->version, storage_version_mark(version));
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
