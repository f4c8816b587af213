/* SPDX-License-Identifier: MIT */
/*
 * Gunzip: the content of a gzip file, or of one in memory, part by part. Only when the end has been
 * read is it known to be whole, with the right checksum. The bytes are hostile. Blocks; any thread.
 */
#ifndef STOKER_DATASET_ARRAYS_GUNZIP_H
#define STOKER_DATASET_ARRAYS_GUNZIP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/fault.h"

enum {
	GUNZIP_E_BAD = 1, /* it is damaged, was cut, or cannot be read */
	GUNZIP_E_CANCELLED,
};

struct gunzip;

/* Do they begin a gzip? */
bool gunzip_suits(const uint8_t *bytes, size_t size);

/* Decompressor of a file from its current offset, or, unless `bytes` is NULL, of these bytes. All
 * are borrowed. NULL: no memory. */
struct gunzip *gunzip_new(int fd, const struct buffer *bytes, const atomic_bool *cancel);
void gunzip_free(struct gunzip *gunzip); /* NULL will do */

/* The next `size` bytes, fewer only at the end. 0, a condition or -ENOMEM. */
int gunzip_read(struct gunzip *gunzip, uint8_t *to, size_t size, size_t *got_out,
		struct fault *fault);

#endif
