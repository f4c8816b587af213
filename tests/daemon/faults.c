// SPDX-License-Identifier: MIT
/*
 * Preloaded into a daemon by test_storage.py: a storage that fails. Reading a file whose name holds
 * "broken-disk" gives EIO. Any thread; no state.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef ssize_t read_at(int fd, void *data, size_t size, off_t at);

static int is_broken(int fd)
{
	char link[64], path[4096];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t size = readlink(link, path, sizeof(path) - 1);
	path[size < 0 ? 0 : size] = '\0';
	return strstr(path, "broken-disk") != NULL;
}

static ssize_t read_or_fail(const char *name, int fd, void *data, size_t size, off_t at)
{
	if (is_broken(fd)) {
		errno = EIO;
		return -1;
	}
	read_at *real = (read_at *)dlsym(RTLD_NEXT, name);
	return real(fd, data, size, at);
}

ssize_t pread(int fd, void *data, size_t size, off_t at)
{
	return read_or_fail("pread", fd, data, size, at);
}

ssize_t pread64(int fd, void *data, size_t size, off_t at)
{
	return read_or_fail("pread64", fd, data, size, at);
}
