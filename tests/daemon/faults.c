// SPDX-License-Identifier: MIT
/*
 * Preloaded into a daemon by spawn_on() of test_storage.py: a storage that fails. Reading a file
 * whose name holds "broken-disk" gives EIO, "slow-disk" half a second of waiting, and "held-disk"
 * waits for as long as there is a file of the same name and ".hold". Any thread; no state.
 */
#undef _FILE_OFFSET_BITS /* pread() shall be that symbol, and pread64() the other */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void find_name(int fd, char path[4096])
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t size = readlink(link, path, 4000);
	path[size < 0 ? 0 : size] = '\0';
}

static void wait_while_held(char path[4096])
{
	strcat(path, ".hold");
	while (access(path, F_OK) == 0)
		usleep(5000);
}

static ssize_t read_or_fail(int fd, void *data, size_t size, off64_t at)
{
	char path[4096];
	find_name(fd, path);
	if (strstr(path, "slow-disk"))
		usleep(500000);
	if (strstr(path, "held-disk"))
		wait_while_held(path);
	if (!strstr(path, "broken-disk"))
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
