/* SPDX-License-Identifier: MIT */
/*
 * The peer of a connection: who it was when it connected. Any thread.
 */
#ifndef STOKER_LOOP_OS_PEER_H
#define STOKER_LOOP_OS_PEER_H

#include <stdbool.h>
#include <sys/types.h>

struct credentials;

/* Read the credentials of a Unix socket's peer. 0 or a negative errno. Where the kernel does not
 * tell the supplementary groups (before Linux 4.13) there are none. */
int peer_credentials(struct credentials *out, int fd);

/* Does this machine talk to itself: over a Unix socket, or between loopback addresses? */
bool peer_is_near(int fd);
/* The user of the socket at the other end, of a Unix socket or of a TCP connection between
 * processes of this network namespace: those are looked up in /proc/net, in milliseconds. 0, or
 * -ENOENT if it cannot be found. */
int peer_user(uid_t *out, int fd);

#endif
