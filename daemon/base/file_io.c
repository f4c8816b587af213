// SPDX-License-Identifier: MIT
#include "base/file_io.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

int file_write_all(int fd, struct iovec *parts, int count)
{
	while (count > 0) {
		if (parts->iov_len == 0) {
			parts++;
			count--;
			continue;
		}
		ssize_t put = writev(fd, parts, count);
		if (put == 0 || (put < 0 && errno != EINTR))
			return put == 0 ? -EIO : -errno;
		for (int i = 0; i < count && put > 0; i++) {
			size_t part =
				(size_t)put < parts[i].iov_len ? (size_t)put : parts[i].iov_len;
			if (part == 0) /* an empty one may be at no place */
				continue;
			parts[i].iov_base = (uint8_t *)parts[i].iov_base + part;
			parts[i].iov_len -= part;
			put -= (ssize_t)part;
		}
	}
	return 0;
}

int file_read_all(int fd, void *to, size_t size, off_t at)
{
	for (uint8_t *next = to; size > 0;) {
		ssize_t got = pread(fd, next, size, at);
		if (got == 0)
			return FILE_E_SHORT;
		if (got < 0 && errno != EINTR)
			return -errno;
		size_t part = got > 0 ? (size_t)got : 0;
		next += part;
		at += (off_t)part;
		size -= part;
	}
	return 0;
}
