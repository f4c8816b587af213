/* SPDX-License-Identifier: MIT */
/*
 * Files in memory that nobody can change any more, and whose path says a digest of what they hold:
 * /memory/DIGEST/NAME, with 32 hexadecimal digits. Two of them are one file if path and content
 * are, so programs that make the same list for themselves show the same dataset. The digest is for
 * finding; the content alone decides. Any thread.
 */
#ifndef STOKER_STORAGE_SEALED_FILE_H
#define STOKER_STORAGE_SEALED_FILE_H

#include <stdbool.h>

#include "storage/storage.h"

/* Has the path that form, and is the descriptor of a file that is sealed, of at most 1 GiB? */
bool sealed_file_is(const char *path, int fd);
/* Find its version, which is its size and a digest of its content. Without `wait` -EAGAIN of a file
 * that takes more than a moment to read. 0 or a negative errno. */
int sealed_file_version(int fd, bool wait, struct storage_version *out);

#endif
