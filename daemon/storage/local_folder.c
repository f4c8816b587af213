// SPDX-License-Identifier: MIT
#include "storage/local_folder.h"

#include <errno.h>
#include <fcntl.h>
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
