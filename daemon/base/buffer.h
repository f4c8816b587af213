/* SPDX-License-Identifier: MIT */
/*
 * A block of bytes that grows and is reused: the contents of a file, scratch memory of a decoder.
 * BUFFER_SLACK readable bytes follow `capacity`, so that vector code may read past the end. One
 * owner at a time; any thread.
 */
#ifndef STOKER_BASE_BUFFER_H
#define STOKER_BASE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#define BUFFER_SLACK 64

struct buffer {
	uint8_t *data; /* 64-byte aligned */
	size_t size;   /* in use */
	size_t capacity;
	size_t recent; /* about the largest size of the last uses; buffer_wane()'s */
};

#define BUFFER_NULL ((struct buffer){0})

/* Make room for `capacity` bytes; the contents are lost if it has to grow. 0 or -ENOMEM. */
int buffer_reserve(struct buffer *buffer, size_t capacity);
/* Free its memory if it has more than `keep` bytes. */
void buffer_trim(struct buffer *buffer, size_t keep);
/* After each use: free its memory if it has more than `least` bytes, and the last uses needed less
 * than half of it. So one huge picture does not leave its size behind, and pictures that are all
 * large do not cost page faults. */
void buffer_wane(struct buffer *buffer, size_t least);
#define BUFFER_KEEP ((size_t)16 << 20)	   /* scratch memory kept between pictures */
void buffer_deinit(struct buffer *buffer); /* may be called twice, and on BUFFER_NULL */

#endif
