// SPDX-License-Identifier: MIT
#include "storage/local_rights.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/credentials.h"
#include "storage/openat2.h"

static void fd_name(char out[32], int fd)
{
	snprintf(out, 32, "/proc/self/fd/%d", fd);
}

/* By name, because a descriptor of O_PATH has no attributes. What cannot be known is one. */
static bool has_acl(int fd)
{
	char name[32];
	fd_name(name, fd);
	return getxattr(name, "system.posix_acl_access", NULL, 0) >= 0 ||
	       (errno != ENODATA && errno != ENOTSUP);
}

int rights_check(int fd, const struct credentials *reader, unsigned rights)
{
	struct stat stat;
	if (fstat(fd, &stat))
		return -errno;
	unsigned mode = stat.st_mode;
	if (credentials_is_user(reader, stat.st_uid))
		mode >>= 6;
	else if (has_acl(fd))
		return -EACCES;
	else if (credentials_is_member(reader, stat.st_gid))
		mode >>= 3;
	return (mode & rights) == rights ? 0 : -EACCES;
}

#define WITHIN (RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)

/* Check the last part of a path: a folder, which is to be listed, or a file. */
static int check_last(int fd, const struct credentials *reader)
{
	struct stat stat;
	if (fstat(fd, &stat))
		return -errno;
	return rights_check(fd, reader,
			    S_ISDIR(stat.st_mode) ? RIGHTS_READ | RIGHTS_SEARCH : RIGHTS_READ);
}

/* As rights_open(), a part of the key after the other; -ELOOP at a link. */
static int walk(int folder, const char *key, int flags, const struct credentials *reader)
{
	for (int at = folder;;) {
		char name[NAME_MAX + 1];
		size_t size = strcspn(key, "/");
		const char *rest = key + size + strspn(key + size, "/");
		if (size > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, key, size);
		name[size] = '\0';
		bool up = strcmp(name, "..") == 0;
		int fd = up ? -EXDEV
			    : openat2_retrying(at, size ? name : ".",
					       *rest ? O_PATH | O_DIRECTORY : flags,
					       WITHIN | RESOLVE_NO_SYMLINKS);
		if (at != folder)
			close(at);
		if (fd < 0)
			return fd;
		int r = *rest ? rights_check(fd, reader, RIGHTS_SEARCH) : check_last(fd, reader);
		if (r < 0) {
			close(fd);
			return r;
		}
		if (!*rest)
			return fd;
		at = fd;
		key = rest;
	}
}

/* Find where a path over links ends, relative to the folder, as the kernel says it. 0 or a negative
 * errno. */
static int resolve(int folder, const char *key, char out[PATH_MAX])
{
	char name[32], root[PATH_MAX], path[PATH_MAX];
	int fd = openat2_retrying(folder, key, O_PATH, WITHIN);
	if (fd < 0)
		return fd;
	fd_name(name, fd);
	ssize_t size = readlink(name, path, sizeof(path) - 1);
	close(fd);
	fd_name(name, folder);
	ssize_t root_size = readlink(name, root, sizeof(root));
	if (size < 0 || root_size < 0)
		return -errno;
	path[size] = '\0';
	if (root_size == 1) /* / */
		root_size = 0;
	if (size < root_size || memcmp(path, root, (size_t)root_size) != 0 ||
	    (path[root_size] && path[root_size] != '/'))
		return -EXDEV;
	strcpy(out, path + root_size + strspn(path + root_size, "/"));
	return 0;
}

int rights_open(int folder, const char *key, int flags, const struct credentials *reader)
{
	char path[PATH_MAX];
	if (key[0] == '/')
		return -EXDEV;
	int fd = walk(folder, key, flags, reader);
	if (fd != -ELOOP)
		return fd;
	int r = resolve(folder, key, path);
	return r < 0 ? r : walk(folder, path, flags, reader);
}
