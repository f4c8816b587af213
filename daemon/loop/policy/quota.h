/* SPDX-License-Identifier: MIT */
/*
 * What one user may make the daemon hold: readers, and memory of rings; and one connection: leases.
 * A user is who connected (SO_PEERCRED). A ring is its oldest reader's user's, a sampler's table is
 * its stream's first ring's. Loop thread; counts what is there whenever it is asked, so that
 * nothing can be out of step.
 */
#ifndef STOKER_LOOP_POLICY_QUOTA_H
#define STOKER_LOOP_POLICY_QUOTA_H

#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"

struct server;
struct session;

/* Connections of a user beside its readers', if those are limited: who is not attached (yet). */
#define QUOTA_SPARE_CONNECTIONS 64
/* Leases with which a connection may attach again: eight times what one reader may have. */
#define QUOTA_LEASES 8192

/* All answer 0, or 1 with words. */
int quota_connection(const struct server *server, int fd, struct fault *fault);
int quota_reader(const struct session *session, struct fault *fault);

/* How large another ring of this user may be, and what bounds it. */
struct quota_room {
	uint64_t bytes, limit;
	const char *option;
	unsigned error; /* for who wants more */
};

struct quota_room quota_ring(const struct server *server, uid_t uid);

#endif
