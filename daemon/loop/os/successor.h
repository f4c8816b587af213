/* SPDX-License-Identifier: MIT */
/*
 * The program that this process goes on as after an upgrade: found where this one was, started by
 * execve(), so that process id, parent, control group and log stay. It is given the listening
 * sockets and their locks as descriptors, and an entry of the environment that names them: clients
 * that connect meanwhile wait and are not refused. Loop thread; knows no connection.
 */
#ifndef STOKER_LOOP_OS_SUCCESSOR_H
#define STOKER_LOOP_OS_SUCCESSOR_H

#include <limits.h>
#include <stdbool.h>

#include "base/fault.h"

#define SUCCESSOR_SOCKETS 3

struct successor {
	char program[PATH_MAX]; /* "": the daemon just ends */
	struct successor_socket {
		const char *name;
		int fd, lock_fd; /* borrowed until successor_start() */
	} sockets[SUCCESSOR_SOCKETS];
	unsigned count;
};

/* Find the program that lies now at the path of this process' program. 0, or a condition with
 * words. */
int successor_find(struct successor *successor, struct fault *fault);
void successor_give(struct successor *successor, const char *name, int fd, int lock_fd);
/* With the arguments of this process. Returns only if it fails: a negative errno. */
int successor_start(const struct successor *successor);

/* In the new program: a socket that was given under this name, now the caller's. */
bool successor_take(const char *name, int *fd_out, int *lock_fd_out);
/* Nothing more is taken: what is left is closed, so that its lock is free again. */
void successor_took_all(void);

#endif
