// SPDX-License-Identifier: MIT
#include "storage/storage.h"

#include <errno.h>

#include "storage/local.h"
#include "storage/remote/http.h"
#include "storage/remote/own_keys.h"
#include "storage/remote/s3.h"
#include "storage/remote/transfer.h"
#include "storage/slow.h"

const struct storage *const storages[] = {
	&storage_slow, /* some of local's paths */
	&storage_local, &storage_http, &storage_s3, NULL,
};

void storage_stop(void)
{
	own_keys_stop();
	transfer_stop();
}

struct storage_counts storage_counts(void)
{
	return transfer_counts();
}

bool storage_version_equal(const struct storage_version *a, const struct storage_version *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

uint64_t storage_version_mark(const struct storage_version *version)
{
	const uint64_t parts[] = {version->device, version->inode, version->size,
				  (uint64_t)version->mtime_ns, (uint64_t)version->ctime_ns};
	uint64_t mark = 0;
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		mark = (mark ^ parts[i]) * 0x9E3779B97F4A7C15u; /* odd: a bijection */
		mark ^= mark >> 32;
	}
	return mark ? mark : 1;
}

uint32_t storage_version_glance(const struct storage_version *version)
{
	const struct storage_version seen = {.size = version->size, .mtime_ns = version->mtime_ns};
	uint32_t glance = (uint32_t)(storage_version_mark(&seen) >> 32);
	return glance ? glance : 1;
}

#define NO_STORAGE "the path is not absolute"

const struct storage *storage_of(const char *path)
{
	const struct storage *const *storage = storages;
	while (*storage && !(*storage)->accepts(path))
		storage++;
	return *storage;
}

int storage_look(const struct storage_place *place, bool *folder_out)
{
	const struct storage *storage = storage_of(place->path);
	return storage ? storage->look(place, folder_out) : -ENOENT;
}

int storage_open_file(const struct storage_place *place, int *fd_out,
		      struct storage_version *version_out, struct fault *fault)
{
	const struct storage *storage = storage_of(place->path);
	return storage ? storage->open_file(place, fd_out, version_out, fault)
		       : fault_say(fault, STORAGE_E_READ, NO_STORAGE);
}

int storage_open(struct storage_folder *out, const struct storage_place *place, struct fault *fault)
{
	struct storage_folder folder = {.storage = storage_of(place->path)};
	int result = folder.storage ? folder.storage->open(&folder.state, place, fault)
				    : fault_say(fault, STORAGE_E_OPEN, NO_STORAGE);
	if (!result)
		*out = folder;
	return result;
}

void storage_close(struct storage_folder *folder)
{
	if (folder->storage)
		folder->storage->close(folder->state);
	*folder = STORAGE_FOLDER_NULL;
}
