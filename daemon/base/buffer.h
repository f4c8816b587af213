/* SPDX-License-Identifier: MIT */
/*
 * A block of bytes that grows and is reused: a file's content, a decoder's scratch. BUFFER_SLACK
 * readable bytes stand behind `capacity`, so that vector code may read past the end. One owner at a
 * time; any thread.
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
};

#define BUFFER_NULL ((struct buffer){0})

/* Make room for `capacity` bytes; what was in it is lost if it has to grow. 0 or -ENOMEM. */
int buffer_reserve(struct buffer *buffer, size_t capacity);
/* Give its memory back if it is more than `keep` bytes: one large picture was enough. */
void buffer_trim(struct buffer *buffer, size_t keep);
#define BUFFER_KEEP ((size_t)16 << 20)	   /* of scratch memory, from one picture to the next */
void buffer_deinit(struct buffer *buffer); /* may be called twice, and on BUFFER_NULL */

#endif
