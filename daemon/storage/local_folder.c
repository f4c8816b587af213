// SPDX-License-Identifier: MIT
#include "storage/local_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "storage/local_rights.h"
#include "storage/openat2.h"

int local_open_at(const struct local *local, const char *key, int flags)
{
	if (local->reader)
		return rights_open(local->fd, key, flags, local->reader);
	return openat2_retrying(local->fd, key, flags, local->resolve);
}

int local_stat(const struct local *local, const char *key, struct stat *out)
{
	int fd = local_open_at(local, key, O_PATH);
	if (fd < 0)
		return fd;
	int result = fstat(fd, out) ? -errno : 0;
	close(fd);
	return result;
}

/* The rest of a path behind the folder that it is beneath; NULL: it is not. */
static const char *local_rest(const char *path, const char *beneath)
{
	size_t size = strcmp(beneath, "/") == 0 ? 0 : strlen(beneath);
	if (strncmp(path, beneath, size) != 0 || (path[size] && path[size] != '/'))
		return NULL;
	path += size;
	path += strspn(path, "/");
	return *path ? path : ".";
}

/* As open(), which works also where openat2() is forbidden. */
static int local_open_path(const char *path, int flags, uint64_t resolve)
{
	if (resolve)
		return openat2_retrying(AT_FDCWD, path, flags, resolve);
	int fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int local_open_place(const struct storage_place *place, int flags, uint64_t cached)
{
	if (place->reach == STORAGE_ANYWHERE)
		return local_open_path(place->path, flags, cached);
	if (place->reach == STORAGE_GIVEN) {
		int fd = fcntl(place->fd, F_DUPFD_CLOEXEC, 0);
		return fd < 0 ? -errno : fd;
	}
	const char *rest =
		place->reach == STORAGE_BENEATH ? local_rest(place->path, place->beneath) : NULL;
	if (!rest)
		return -EXDEV;
	int folder = local_open_path(place->beneath, O_PATH | O_DIRECTORY, cached);
	if (folder < 0)
		return folder;
	int fd = openat2_retrying(folder, rest, flags,
				  RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | cached);
	close(folder);
	return fd;
}

int64_t nanoseconds_of(struct timespec time)
{
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

struct storage_version local_version_of(const struct stat *stat)
{
	return (struct storage_version){
		.device = (uint64_t)stat->st_dev,
		.inode = (uint64_t)stat->st_ino,
		.size = (uint64_t)stat->st_size,
		.mtime_ns = nanoseconds_of(stat->st_mtim),
		.ctime_ns = nanoseconds_of(stat->st_ctim),
	};
}
