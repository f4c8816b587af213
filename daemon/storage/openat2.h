/* SPDX-License-Identifier: MIT */
/*
 * The system call openat2(), which the C library does not have. Needs Linux 5.6. Any thread.
 */
#ifndef STOKER_STORAGE_OPENAT2_H
#define STOKER_STORAGE_OPENAT2_H

#include <linux/openat2.h> /* RESOLVE_... */
#include <stdint.h>

/* A descriptor of what `key` leads to from `folder` on, or a negative errno: -EXDEV if it leads out
 * of it and must not. */
int openat2_retrying(int folder, const char *key, int flags, uint64_t resolve);

#endif
