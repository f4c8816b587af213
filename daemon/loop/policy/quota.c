// SPDX-License-Identifier: MIT
#include "loop/policy/quota.h"

#include "base/credentials.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/lease.h"
#include "loop/state/memory.h"
#include "loop/state/orphan.h"
#include "loop/state/producer.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "loop/state/user.h"

#define FDS_OF_CONNECTION 2 /* its socket, and its process to be watched */
#define FDS_RESERVED 32u    /* standard streams, sockets, locks, libuv's own, files being opened */

#define ADDRESSES ((uint64_t)32 << 40) /* of all rings */

static const struct user *find_user(const struct core *core, uid_t uid)
{
	list_for_each(user, next, &core->users->all, struct user, link)
		if (user->uid == uid)
			return user;
	return NULL;
}

/* -- shares ------------------------------------------------------------------------------- */

/* Root and the daemon's own user could have all of it in other ways, too. */
static bool is_own(uid_t uid)
{
	const struct credentials credentials = {.uid = uid};
	return credentials_are_own(&credentials);
}

uint64_t quota_share(const struct core *core, uid_t uid, uint64_t total, uint64_t others)
{
	unsigned users = find_user(core, uid) ? 0 : 1;
	uint64_t rest = total > others ? total - others : 0;
	if (is_own(uid))
		return rest;
	list_for_each(user, next, &core->users->all, struct user, link)
		users += !is_own(user->uid);
	return rest / (users + 1);
}

/* -- connections and readers -------------------------------------------------------------- */

/* max-readers-per-user is set. */
static int check_connections(const struct core *core, const struct user *user, struct fault *fault)
{
	unsigned limit = core->config->max_readers_per_user;
	if (!user || user->connections < limit + QUOTA_SPARE_CONNECTIONS)
		return 0;
	return fault_say(
		fault, 1,
		"user %u has %u connections, %d more than it may have readers: close some, "
		"or raise max-readers-per-user (%u)",
		(unsigned)user->uid, user->connections, QUOTA_SPARE_CONNECTIONS, limit);
}

static int check_share_of_connections(const struct core *core, uid_t uid, unsigned own,
				      struct fault *fault)
{
	unsigned all = 0, total = core->config->max_connections;
	list_for_each(user, next, &core->users->all, struct user, link)
		all += user->connections;
	uint64_t share = quota_share(core, uid, total, all - own);
	if (own < share)
		return 0;
	return fault_say(fault, 1,
			 "user %u has %u connections, its share of %u beside the other users' "
			 "(max-connections): close some, raise it, or set max-readers-per-user",
			 (unsigned)uid, own, total);
}

int quota_connection(const struct core *core, uid_t uid, struct fault *fault)
{
	const struct user *user = find_user(core, uid);
	int r = 0;
	if (core->config->max_readers_per_user)
		r = check_connections(core, user, fault);
	else if (!is_own(uid))
		r = check_share_of_connections(core, uid, user ? user->connections : 0, fault);
	return r ? r : quota_descriptors(core, uid, FDS_OF_CONNECTION, fault);
}

int quota_reader(const struct core *core, uid_t uid, const struct lease_book *book,
		 struct fault *fault)
{
	unsigned limit = core->config->max_readers_per_user;
	const struct user *user = find_user(core, uid);
	if (book->count > QUOTA_LEASES)
		return fault_say(fault, 1,
				 "this connection holds %u batches of its earlier readers, more "
				 "than %d: release them before it attaches again",
				 book->count, QUOTA_LEASES);
	if (limit == 0 || !user || user->attached < limit)
		return 0;
	return fault_say(fault, 1,
			 "user %u has %u readers attached, and may have %u "
			 "(max-readers-per-user): detach some, or raise it",
			 (unsigned)uid, user->attached, limit);
}

/* -- descriptors -------------------------------------------------------------------------- */

/* `uid` NULL: of all. */
static bool is_of(const uid_t *uid, uid_t other)
{
	return !uid || *uid == other;
}

static unsigned rings_of(const struct core *core, const uid_t *uid)
{
	unsigned rings = 0;
	list_for_each(stream, next, &core->streams, struct stream, link)
		list_for_each(ring, after, &stream->rings, struct ring, link)
			rings += is_of(uid, ring->uid);
	list_for_each(ring, later, &core->abandoned, struct ring, link)
		rings += is_of(uid, ring->uid);
	list_for_each(orphan, last, &core->orphans, struct orphan, link)
		rings += is_of(uid, orphan->uid);
	return rings;
}

/* A ring has one, and a dataset that is open another, also one that stays open, warm, when its user
 * has left. */
static uint64_t descriptors_of(const struct core *core, const uid_t *uid)
{
	uint64_t count = rings_of(core, uid);
	list_for_each(user, next, &core->users->all, struct user, link)
		if (is_of(uid, user->uid))
			count += (uint64_t)user->connections * FDS_OF_CONNECTION + user->in_flight;
	list_for_each(entry, later, &core->datasets, struct dataset_entry, link)
		count += is_of(uid, entry->uid) && entry->state != ENTRY_IDLE;
	return count;
}

uint64_t quota_all_descriptors(const struct core *core)
{
	uint64_t reserved = (uint64_t)core_workers(core) + core_fetchers(core) + FDS_RESERVED;
	return core->fd_limit > reserved ? core->fd_limit - reserved : 0;
}

int quota_descriptors(const struct core *core, uid_t uid, unsigned count, struct fault *fault)
{
	uint64_t total = quota_all_descriptors(core), all = descriptors_of(core, NULL);
	uint64_t own = descriptors_of(core, &uid);
	uint64_t limit = quota_share(core, uid, total, all - own);
	if (own + count <= limit)
		return 0;
	return fault_say(
		fault, 1,
		"user %u makes the daemon hold %llu file descriptors, and may %llu of %llu: "
		"close connections or datasets, or raise the daemon's limit "
		"(LimitNOFILE, ulimit -n)",
		(unsigned)uid, (unsigned long long)own, (unsigned long long)limit,
		(unsigned long long)total);
}

bool quota_passed_fds(const struct core *core, const struct user *user)
{
	/* The kernel's limit is the same number, and clients of other daemons of this user count.
	 */
	uint64_t total = core->fd_limit / 2, all = core->counters[COUNTER_DESCRIPTORS_IN_FLIGHT];
	uint64_t share = quota_share(core, user->uid, total, all - user->in_flight);
	return user->in_flight <= (share ? share : 1);
}

/* -- memory of datasets ------------------------------------------------------------------- */

struct memory_limits quota_memory(const struct core *core, uid_t uid)
{
	uint64_t datasets = 0, indexes = 0;
	if (is_own(uid)) /* what is in all accounts together bounds it */
		return (struct memory_limits){UINT64_MAX, UINT64_MAX};
	list_for_each(memory, next, &core->memories, struct memory, link) {
		if (memory->uid == uid)
			continue;
		datasets += atomic_load(&memory->account.bytes);
		indexes += atomic_load(&memory->indexes.bytes);
	}
	list_for_each(entry, later, &core->datasets, struct dataset_entry, link)
		if (entry->uid != uid && entry->state == ENTRY_IDLE)
			datasets -= entry->charged; /* it goes where there is no room for all */
	return (struct memory_limits){
		quota_share(core, uid, core->config->dataset_memory, datasets),
		quota_share(core, uid, core->config->index_memory, indexes)};
}

/* -- memory of rings ---------------------------------------------------------------------- */

static uint64_t tray_bytes_of(const struct core *core, uid_t uid)
{
	uint64_t bytes = 0;
	list_for_each(code, next, &core->codes, struct code, link)
		list_for_each(producer, after, &code->producers, struct producer, in_code)
			bytes += code->uid == uid ? producer->tray.bytes : 0;
	return bytes;
}

static uint64_t ring_bytes_of(const struct core *core, uid_t uid)
{
	uint64_t bytes = 0;
	list_for_each(stream, next, &core->streams, struct stream, link) {
		const struct ring *first = list_entry(stream->rings.next, struct ring, link);
		if (!list_empty(&stream->rings) && first->uid == uid)
			bytes += stream_table_bytes(&stream->order);
		list_for_each(ring, after, &stream->rings, struct ring, link)
			bytes += ring->uid == uid ? ring->segment.backed : 0;
	}
	list_for_each(ring, later, &core->abandoned, struct ring, link)
		bytes += ring->uid == uid ? ring->segment.backed : 0;
	list_for_each(orphan, last, &core->orphans, struct orphan, link)
		bytes += orphan->uid == uid ? orphan->bytes : 0;
	return bytes + tray_bytes_of(core, uid);
}

struct quota_room quota_ring(const struct core *core, uid_t uid)
{
	const struct config *config = core->config;
	struct quota_room room = {
		.limit = config->ring_memory, .option = "ring-memory", .error = ERROR_MEMORY};
	if (room.limit > core->ring_bytes)
		room.bytes = room.limit - core->ring_bytes;
	if (config->ring_memory_per_user == 0 && is_own(uid))
		return room;
	uint64_t used = ring_bytes_of(core, uid), limit = config->ring_memory_per_user;
	if (limit == 0)
		limit = quota_share(core, uid, room.limit, core->ring_bytes - used);
	uint64_t left = limit > used ? limit - used : 0;
	if (left < room.bytes)
		room = (struct quota_room){left, limit, "ring-memory-per-user", ERROR_LIMIT};
	return room;
}

uint64_t quota_addresses(const struct core *core, uid_t uid)
{
	uint64_t own = 0, others = 0;
	list_for_each(stream, next, &core->streams, struct stream, link)
		list_for_each(ring, after, &stream->rings, struct ring, link)
			*(ring->uid == uid ? &own : &others) += ring->segment.bytes;
	list_for_each(ring, later, &core->abandoned, struct ring, link)
		*(ring->uid == uid ? &own : &others) += ring->segment.bytes;
	uint64_t share = quota_share(core, uid, ADDRESSES, others);
	return share > own ? share - own : 0;
}
