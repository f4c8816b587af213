// SPDX-License-Identifier: MIT
#include "store/cache_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHERS_WRITE (S_IWGRP | S_IWOTH)
#define OTHERS_ALL (S_IRWXG | S_IRWXO)

/* bford.info/cachedir: the first bytes are what counts. */
static const char tag[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
			  "# stokerd keeps here what it can get again: while none runs, all of it "
			  "may be deleted.\n";

static int say_errno(const char *path, struct fault *fault)
{
	return fault_say(fault, CACHE_DIR_E_SYSTEM, "%s: %s", path, strerror(errno));
}

/* Only the daemon's user may have the rights `refused`. */
static int check_folder(int fd, const char *path, mode_t refused, struct fault *fault)
{
	struct stat stat;
	if (fstat(fd, &stat) < 0)
		return say_errno(path, fault);
	if (stat.st_uid != geteuid())
		return fault_say(fault, CACHE_DIR_E_SYSTEM,
				 "%s is owned by uid %u, not by the daemon's uid %u: chown it, or "
				 "name another folder",
				 path, (unsigned)stat.st_uid, (unsigned)geteuid());
	if (stat.st_mode & refused)
		return fault_say(fault, CACHE_DIR_E_SYSTEM,
				 "%s is open to other users: chmod %s %s", path,
				 refused == OTHERS_ALL ? "go=" : "go-w", path);
	return 0;
}

static int take_lock(struct cache_dir *dir, const char *path, struct fault *fault)
{
	dir->lock = openat(dir->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (dir->lock >= 0 && flock(dir->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return fault_say(fault, CACHE_DIR_E_BUSY,
				 "another stokerd uses %s: give this one a cache-dir of its own",
				 path);
	return say_errno(path, fault);
}

/* Without it nothing is lost but room in a backup. */
static void put_tag(const struct cache_dir *dir)
{
	int fd = openat(dir->fd, "CACHEDIR.TAG", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (write(fd, tag, sizeof(tag) - 1) != (ssize_t)sizeof(tag) - 1)
		unlinkat(dir->fd, "CACHEDIR.TAG", 0);
	close(fd);
}

int cache_dir_open(struct cache_dir *out, const char *path, struct fault *fault)
{
	struct cache_dir dir = CACHE_DIR_NULL;
	dir.path = strdup(path);
	if (dir.path && (mkdir(path, 0700) == 0 || errno == EEXIST))
		dir.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int result = dir.fd < 0 ? say_errno(path, fault)
				: check_folder(dir.fd, path, OTHERS_WRITE, fault);
	if (!result)
		result = take_lock(&dir, path, fault);
	if (result) {
		cache_dir_close(&dir);
		return result;
	}
	put_tag(&dir);
	*out = dir;
	return 0;
}

int cache_dir_folder(const struct cache_dir *dir, const char *name, int *fd_out,
		     struct fault *fault)
{
	int fd = -1;
	char *path;
	if (asprintf(&path, "%s/%s", dir->path, name) < 0)
		return fault_say(fault, CACHE_DIR_E_SYSTEM, "out of memory");
	if (mkdirat(dir->fd, name, 0700) == 0 || errno == EEXIST)
		fd = openat(dir->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int result = fd < 0 ? say_errno(path, fault) : check_folder(fd, path, OTHERS_ALL, fault);
	free(path);
	if (!result)
		*fd_out = fd;
	else if (fd >= 0)
		close(fd);
	return result;
}

void cache_dir_close(struct cache_dir *dir)
{
	if (dir->lock >= 0)
		close(dir->lock);
	if (dir->fd >= 0)
		close(dir->fd);
	free(dir->path);
	*dir = CACHE_DIR_NULL;
}
