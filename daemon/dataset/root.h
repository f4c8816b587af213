/* SPDX-License-Identifier: MIT */
/*
 * A folder that nobody reads out of: opening and reading files beneath it, however hostile their
 * names and the links on the way (openat2 with RESOLVE_BENEATH; absolute links, "..", magic links
 * and FIFOs lead nowhere). Owns one descriptor. Immutable once open; any number of threads.
 */
#ifndef STOKER_DATASET_ROOT_H
#define STOKER_DATASET_ROOT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/fault.h"
#include "base/stamp.h"

struct stat;

enum {
	ROOT_E_OPEN = 1, /* the folder cannot be opened, or the kernel has no openat2 */
	ROOT_E_READ,	 /* the file cannot be opened or read, is no regular file, is empty */
	ROOT_E_LIMIT,	 /* the file is larger than allowed */
	ROOT_E_CHANGED,	 /* somebody wrote to the file while it was read */
};

struct root {
	int fd;
};
#define ROOT_NULL ((struct root){.fd = -1})

int root_open(struct root *root, const char *path, struct fault *fault); /* 0, ROOT_E_OPEN */
void root_close(struct root *root); /* may be called twice, and on ROOT_NULL */

/* A descriptor of what stands at `path`, opened with `flags` and O_CLOEXEC, or a negative errno:
 * -EXDEV if the way leads out. */
int root_open_at(const struct root *root, const char *path, int flags);
/* stat() of what stands at `path`, links followed. 0 or a negative errno, as root_open_at(). */
int root_stat(const struct root *root, const char *path, struct stat *out);

/*
 * All bytes of the regular file at `path` into `buffer`, never more than `max_bytes`, and the
 * file's stamp from before they were read, if asked for. Blocks. 0, ROOT_E_READ, ROOT_E_LIMIT,
 * ROOT_E_CHANGED or -ENOMEM.
 */
int root_read(const struct root *root, const char *path, uint64_t max_bytes, struct buffer *buffer,
	      struct stamp *stamp_out, struct fault *fault);

#endif
