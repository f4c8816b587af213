/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes of all bytes that are asked for: where a system call does a part, the rest is
 * asked for again. Blocks; any thread. Knows no name and no format.
 */
#ifndef STOKER_BASE_FILE_IO_H
#define STOKER_BASE_FILE_IO_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
	FILE_E_SHORT = 1, /* the file ends before */
};

/* Write all of the parts, one behind the other, which are used up by it. 0 or a negative errno. */
int file_write_all(int fd, struct iovec *parts, int count);
/* Read all of these bytes of the file. 0, FILE_E_SHORT or a negative errno. */
int file_read_all(int fd, void *to, size_t size, off_t at);

#endif
