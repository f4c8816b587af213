/* SPDX-License-Identifier: MIT */
/*
 * Quotas: limits of what one user may make the daemon hold: connections, readers, descriptors,
 * memory of rings; and one connection: leases. A ring is charged to the user that it was made for,
 * until nobody holds its memory, a sampler's table to the user of its stream's first ring. Computes
 * from state and changes nothing. Loop thread.
 *
 * Where no limit is set, users other than root and the daemon's own have shares: of what the others
 * have left, one part in n + 1, n being the users that are there. So the first may have a half, the
 * second a third of the rest, the n-th one in n(n+1) of all at worst: nobody can take everything,
 * and for n users there is something each, as with dbus-broker's quotas.
 */
#ifndef STOKER_LOOP_POLICY_QUOTA_H
#define STOKER_LOOP_POLICY_QUOTA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "loop/state/memory.h"

struct core;
struct lease_book;
struct user;

/* Connections that a user may have beyond its readers', if those are limited: for whoever is not
 * attached yet. */
#define QUOTA_SPARE_CONNECTIONS 64
/* Leases with which a connection may attach again: eight times what one reader may have. */
#define QUOTA_LEASES 8192

/* Share of a user in `total`, of which the others have `others`. */
uint64_t quota_share(const struct core *core, uid_t uid, uint64_t total, uint64_t others);

/* May this user have one more data connection, and may one of its connections, with these leases,
 * have one more reader? 0, or 1 with words. */
int quota_connection(const struct core *core, uid_t uid, struct fault *fault);
int quota_reader(const struct core *core, uid_t uid, const struct lease_book *book,
		 struct fault *fault);

/* So many more descriptors? 0, or 1 with words. And how many there are for all connections, rings
 * and datasets: threads that read files must never lack one. */
int quota_descriptors(const struct core *core, uid_t uid, unsigned count, struct fault *fault);
uint64_t quota_all_descriptors(const struct core *core);

/* May one of the user's descriptors that wait be sent? */
bool quota_passed_fds(const struct core *core, const struct user *user);

/* Limits of what the user's datasets and fits may hold of dataset-memory, and their seek indexes of
 * index-memory, in all. */
struct memory_limits quota_memory(const struct core *core, uid_t uid);

/* Largest size of another ring of this user, and the limit that sets it. */
struct quota_room {
	uint64_t bytes, limit;
	const char *option;
	unsigned error; /* for whoever wants more */
};

struct quota_room quota_ring(const struct core *core, uid_t uid);

/* Addresses that another ring of this user may take, holes included: they are charged to no memory,
 * and the daemon has 128 TiB of them for all. */
uint64_t quota_addresses(const struct core *core, uid_t uid);

#endif
