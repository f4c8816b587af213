// SPDX-License-Identifier: MIT
#include "dataset/storage/storage.h"

#include <errno.h>

#include "dataset/storage/local.h"

const struct storage *const storages[] = {
	&storage_local,
	NULL,
};

#define NO_STORAGE "the path is not absolute"

const struct storage *storage_of(const char *path)
{
	const struct storage *const *storage = storages;
	while (*storage && !(*storage)->accepts(path))
		storage++;
	return *storage;
}

int storage_look(const char *path, bool *folder_out)
{
	const struct storage *storage = storage_of(path);
	return storage ? storage->look(path, folder_out) : -ENOENT;
}

int storage_open_file(const char *path, int *fd_out, uint64_t *size_out, struct fault *fault)
{
	const struct storage *storage = storage_of(path);
	return storage ? storage->open_file(path, fd_out, size_out, fault)
		       : fault_say(fault, STORAGE_E_READ, NO_STORAGE);
}

int storage_open(struct storage_folder *out, const char *path, struct fault *fault)
{
	struct storage_folder folder = {.storage = storage_of(path)};
	int result = folder.storage ? folder.storage->open(&folder.state, path, fault)
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
