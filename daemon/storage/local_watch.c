// SPDX-License-Identifier: MIT
#include "storage/local_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "storage/local.h"
#include "storage/local_folder.h"
#include "storage/openat2.h"
#include "storage/sealed_file.h"
#include "storage/slow.h"

#define EVENTS                                                                                     \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE |        \
	 IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

/* File systems of this machine alone. */
static bool sees_changes(int fd)
{
	static const unsigned kinds[] = {
		EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,	 BTRFS_SUPER_MAGIC,    F2FS_SUPER_MAGIC,
		TMPFS_MAGIC,	  OVERLAYFS_SUPER_MAGIC, 0x2fc12fc1 /* ZFS */,
	};
	struct statfs found;
	bool sees = false;
	if (fstatfs(fd, &found))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		sees = sees || (unsigned)found.f_type == kinds[i];
	return sees;
}

bool local_is_far(const struct storage_folder *folder)
{
	if (folder->storage == &storage_slow)
		return true;
	return folder->storage == &storage_local &&
	       !sees_changes(((const struct local *)folder->state)->fd);
}

int local_watch(const struct storage_folder *folder, const char *key, int inotify)
{
	char name[32];
	if (folder->storage != &storage_local)
		return -ENOTSUP;
	const struct local *local = folder->state;
	int fd = openat2_retrying(local->fd, *key ? key : ".", O_PATH | O_DIRECTORY,
				  RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	if (fd < 0)
		return fd;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	int result = -ENOTSUP;
	if (sees_changes(fd)) {
		result = inotify_add_watch(inotify, name, EVENTS);
		result = result < 0 ? -errno : result;
	}
	close(fd);
	return result;
}

/* As local_version_of() of fstat(), but never from a server. */
static int peek_fd(int fd, struct storage_version *out)
{
	struct statx found;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &found))
		return -errno;
	*out = (struct storage_version){
		.device = makedev(found.stx_dev_major, found.stx_dev_minor),
		.inode = found.stx_ino,
		.size = found.stx_size,
		.mtime_ns = found.stx_mtime.tv_sec * 1000000000 + found.stx_mtime.tv_nsec,
		.ctime_ns = found.stx_ctime.tv_sec * 1000000000 + found.stx_ctime.tv_nsec,
	};
	return 0;
}

int local_peek(const struct storage_place *place, bool wait, struct storage_version *out)
{
	bool given = place->reach == STORAGE_GIVEN;
	if (storage_of(place->path) != &storage_local)
		return -ENOTSUP;
	if (given && sealed_file_is(place->path, place->fd))
		return sealed_file_version(place->fd, wait, out);
	int fd = given ? place->fd : local_open_place(place, O_PATH, wait ? 0 : RESOLVE_CACHED);
	if (fd < 0)
		return fd;
	int result = wait && !sees_changes(fd) ? -ENOTSUP : peek_fd(fd, out);
	if (!given)
		close(fd);
	return result;
}
