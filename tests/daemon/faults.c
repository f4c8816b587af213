// SPDX-License-Identifier: MIT
/*
 * Preloaded into a daemon by test_storage.py: a storage that fails. Reading a file whose name holds
 * "broken-disk" gives EIO, "slow-disk" half a second of waiting. Any thread; no state.
 */
#undef _FILE_OFFSET_BITS /* pread() shall be that symbol, and pread64() the other */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_named(int fd, const char *part)
{
	char link[64], path[4096];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t size = readlink(link, path, sizeof(path) - 1);
	path[size < 0 ? 0 : size] = '\0';
	return strstr(path, part) != NULL;
}

static ssize_t read_or_fail(int fd, void *data, size_t size, off64_t at)
{
	if (is_named(fd, "slow-disk"))
		usleep(500000);
	if (!is_named(fd, "broken-disk"))
		return syscall(SYS_pread64, fd, data, size, at);
	errno = EIO;
	return -1;
}

__attribute__((visibility("default"))) ssize_t pread(int fd, void *data, size_t size, off_t at)
{
	return read_or_fail(fd, data, size, at);
}

__attribute__((visibility("default"))) ssize_t pread64(int fd, void *data, size_t size, off64_t at)
{
	return read_or_fail(fd, data, size, at);
}
