/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that came with a message, by their number in it. Whoever takes one has it; the rest
 * is closed with the message. Loop thread.
 */
#ifndef STOKER_LOOP_OS_DESCRIPTORS_H
#define STOKER_LOOP_OS_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DESCRIPTORS_MAX 34 /* with one message: path and root of 16 parts, a sampler's list */

struct descriptors {
	int fds[DESCRIPTORS_MAX]; /* owned; -1: taken */
	uint32_t count;
};

/* As recv(), with what the peer sent along; above the maximum the rest is closed. */
ssize_t descriptors_receive(struct descriptors *descriptors, int socket, void *at, size_t room);
/* Give one away, if it shows what its sender could read: not of O_PATH, nor for writing alone. A
 * descriptor, -EBADF or -EACCES. */
int descriptors_take(struct descriptors *descriptors, uint32_t number);
void descriptors_close(struct descriptors *descriptors);

#endif
