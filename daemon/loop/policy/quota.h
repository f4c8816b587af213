/* SPDX-License-Identifier: MIT */
/*
 * What one user may make the daemon hold: connections, readers, memory of rings; and one
 * connection: leases. A ring is charged to the user of its oldest reader, a sampler's table to the
 * user of its stream's first ring. Computes from state and changes nothing. Loop thread.
 */
#ifndef STOKER_LOOP_POLICY_QUOTA_H
#define STOKER_LOOP_POLICY_QUOTA_H

#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"

struct core;
struct lease_book;

/* Connections that a user may have beyond its readers', if those are limited: for whoever is not
 * attached yet. */
#define QUOTA_SPARE_CONNECTIONS 64
/* Leases with which a connection may attach again: eight times what one reader may have. */
#define QUOTA_LEASES 8192

/* May this user have one more data connection, and may one of its connections, with these leases,
 * have one more reader? 0, or 1 with words. */
int quota_connection(const struct core *core, uid_t uid, struct fault *fault);
int quota_reader(const struct core *core, uid_t uid, const struct lease_book *book,
		 struct fault *fault);

/* How large another ring of this user may be, and what limits it. */
struct quota_room {
	uint64_t bytes, limit;
	const char *option;
	unsigned error; /* for whoever wants more */
};

struct quota_room quota_ring(const struct core *core, uid_t uid);

#endif
