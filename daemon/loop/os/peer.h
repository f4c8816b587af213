/* SPDX-License-Identifier: MIT */
/*
 * The peer of a Unix socket: who it was when it connected. Any thread.
 */
#ifndef STOKER_LOOP_OS_PEER_H
#define STOKER_LOOP_OS_PEER_H

struct credentials;

/* 0 or a negative errno. Where the kernel does not tell the supplementary groups (before
 * Linux 4.13) there are none. */
int peer_credentials(struct credentials *out, int fd);

#endif
