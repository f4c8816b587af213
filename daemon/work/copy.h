/* SPDX-License-Identifier: MIT */
/* Copies of what this core does not read again. Any thread. */
#ifndef STOKER_WORK_COPY_H
#define STOKER_WORK_COPY_H

#include <stddef.h>

#define COPY_LARGE ((size_t)256 << 10) /* bytes; less is read again before it leaves the caches */

/* As memcpy(). What is large, and goes to whole cache lines, goes past the caches, where the
 * machine can: to fetch a line only to overwrite it would cost a third more. */
void copy_past(void *to, const void *from, size_t bytes);

#endif
