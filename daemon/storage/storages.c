// SPDX-License-Identifier: MIT
/* The table of storages, above all of them; what they share is in storage.c. */
#include <errno.h>

#include "storage/local.h"
#include "storage/remote/http.h"
#include "storage/remote/s3.h"
#include "storage/remote/transfer.h"
#include "storage/remote/user_keys.h"
#include "storage/slow.h"
#include "storage/storage.h"

const struct storage *const storages[] = {
	&storage_slow, /* some of local's paths */
	&storage_local, &storage_http, &storage_s3, NULL,
};

void storage_stop(void)
{
	user_keys_stop();
	transfer_stop();
}

struct storage_counts storage_counts(void)
{
	return transfer_counts();
}

#define NO_STORAGE "the path is not absolute, and no URL that is read: give an absolute path"

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
