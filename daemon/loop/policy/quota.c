// SPDX-License-Identifier: MIT
#include "loop/policy/quota.h"

#include "loop/state/core.h"
#include "loop/state/lease.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "loop/state/user.h"

static const struct user *find_user(const struct core *core, uid_t uid)
{
	list_for_each(user, next, &core->users->all, struct user, link)
		if (user->uid == uid)
			return user;
	return NULL;
}

int quota_connection(const struct core *core, uid_t uid, struct fault *fault)
{
	unsigned limit = core->config->max_readers_per_user;
	const struct user *user = find_user(core, uid);
	if (limit == 0 || !user || user->connections < limit + QUOTA_SPARE_CONNECTIONS)
		return 0;
	return fault_say(
		fault, 1,
		"user %u has %u connections, %d more than it may have readers: close some, "
		"or raise max-readers-per-user (%u)",
		(unsigned)uid, user->connections, QUOTA_SPARE_CONNECTIONS, limit);
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

static uid_t ring_uid(const struct ring *ring)
{
	if (list_empty(&ring->readers))
		return ring->uid;
	return list_entry(ring->readers.next, struct reader, in_ring)->uid;
}

static uint64_t ring_bytes_of(const struct core *core, uid_t uid)
{
	uint64_t bytes = 0;
	list_for_each(stream, next, &core->streams, struct stream, link) {
		const struct ring *first = list_entry(stream->rings.next, struct ring, link);
		if (!list_empty(&stream->rings) && ring_uid(first) == uid)
			bytes += stream_table_bytes(&stream->order);
		list_for_each(ring, after, &stream->rings, struct ring, link)
			bytes += ring_uid(ring) == uid ? ring->segment.bytes : 0;
	}
	list_for_each(ring, later, &core->abandoned, struct ring, link)
		bytes += ring_uid(ring) == uid ? ring->segment.bytes : 0;
	return bytes;
}

struct quota_room quota_ring(const struct core *core, uid_t uid)
{
	const struct config *config = core->config;
	struct quota_room room = {
		.limit = config->ring_memory, .option = "ring-memory", .error = ERROR_MEMORY};
	if (room.limit > core->ring_bytes)
		room.bytes = room.limit - core->ring_bytes;
	if (config->ring_memory_per_user == 0)
		return room;
	uint64_t used = ring_bytes_of(core, uid), limit = config->ring_memory_per_user;
	uint64_t left = limit > used ? limit - used : 0;
	if (left < room.bytes)
		room = (struct quota_room){left, limit, "ring-memory-per-user", ERROR_LIMIT};
	return room;
}
