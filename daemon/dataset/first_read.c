// SPDX-License-Identifier: MIT
#include "dataset/first_read.h"

#include "storage/storage.h"

/* Size, mtime and inode: what has to stay. */
static uint64_t first_read_identity(const struct storage_version *version)
{
	struct storage_version kept = *version;
	kept.device = 0;
	kept.ctime_ns = 0;
	return storage_version_mark(&kept);
}

bool first_read_stamp(struct first_read *read, const struct digest_secret *secret,
		      const struct storage_version *version, const struct buffer *bytes,
		      struct stamp *out)
{
	if (atomic_load(&read->version) != storage_version_mark(version))
		return first_read_stamp_hashed(read, secret, version, bytes, out);
	*out = (struct stamp){bytes->size,
			      atomic_load(&read->first) ^ first_read_identity(version)};
	return true;
}

bool first_read_stamp_hashed(struct first_read *read, const struct digest_secret *secret,
			     const struct storage_version *version, const struct buffer *bytes,
			     struct stamp *out)
{
	uint64_t content = digest_secret_of(secret, bytes->data, bytes->size), first = 0;
	uint64_t wanted = content ^ first_read_identity(version);
	if (!atomic_compare_exchange_strong(&read->first, &first, wanted) && first != wanted)
		return false;
	atomic_store(&read->version, storage_version_mark(version));
	*out = (struct stamp){bytes->size, content};
	return true;
}

bool first_read_stamp_kept(const struct first_read *read, const struct storage_version *version,
			   struct stamp *out)
{
	if (atomic_load(&read->version) != storage_version_mark(version))
		return false;
	*out = (struct stamp){version->size,
			      atomic_load(&read->first) ^ first_read_identity(version)};
	return true;
}
