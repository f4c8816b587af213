// SPDX-License-Identifier: MIT
#include "loop/policy/quota.h"

#include <errno.h>
#include <sys/socket.h>

#include "loop/protocol/connection.h"
#include "loop/server.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"

int quota_connection(const struct server *server, int fd, struct fault *fault)
{
	unsigned limit = server->config->max_readers_per_user, count = 0;
	struct ucred user;
	socklen_t size = sizeof(user);
	if (limit == 0)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &size) < 0)
		return fault_say(fault, 1, "whose connection this is cannot be found: errno %d",
				 errno);
	list_for_each(peer, next, &server->peers, struct peer, link)
		count += peer->socket == MESSAGE_ON_DATA && peer->uid == user.uid;
	if (count < limit + QUOTA_SPARE_CONNECTIONS)
		return 0;
	return fault_say(fault, 1,
			 "user %u has %u connections, %d more than it may have readers: end some, "
			 "or raise max-readers-per-user (%u)",
			 (unsigned)user.uid, count, QUOTA_SPARE_CONNECTIONS, limit);
}

int quota_reader(const struct session *session, struct fault *fault)
{
	const struct server *server = session->peer->server;
	unsigned limit = server->config->max_readers_per_user, count = 0;
	if (session->n_leases > QUOTA_LEASES)
		return fault_say(fault, 1,
				 "this connection holds %u batches of readers that it had, more "
				 "than %d: give them back before it attaches again",
				 session->n_leases, QUOTA_LEASES);
	if (limit == 0)
		return 0;
	list_for_each(peer, next, &server->peers, struct peer, link)
		count += peer->uid == session->peer->uid &&
			 (peer->session.reader || peer->session.attachment);
	if (count < limit)
		return 0;
	return fault_say(fault, 1,
			 "user %u has %u readers attached, and may have %u "
			 "(max-readers-per-user): detach some, or raise it",
			 (unsigned)session->peer->uid, count, limit);
}

static uid_t ring_user(const struct ring *ring)
{
	if (list_empty(&ring->readers))
		return ring->uid;
	return list_entry(ring->readers.next, struct reader, in_ring)->peer->uid;
}

static uint64_t quota_ring_bytes(const struct server *server, uid_t uid)
{
	uint64_t bytes = 0;
	list_for_each(stream, next, &server->streams, struct stream, link) {
		const struct ring *first = list_entry(stream->rings.next, struct ring, link);
		if (!list_empty(&stream->rings) && ring_user(first) == uid)
			bytes += stream_table_bytes(&stream->order);
		list_for_each(ring, after, &stream->rings, struct ring, link)
			bytes += ring_user(ring) == uid ? ring->segment.bytes : 0;
	}
	list_for_each(dying, later, &server->dying, struct ring, link)
		bytes += ring_user(dying) == uid ? dying->segment.bytes : 0;
	return bytes;
}

struct quota_room quota_ring(const struct server *server, uid_t uid)
{
	const struct config *config = server->config;
	struct quota_room room = {
		.limit = config->ring_memory, .option = "ring-memory", .error = ERROR_MEMORY};
	if (room.limit > server->budget_in_use)
		room.bytes = room.limit - server->budget_in_use;
	if (config->ring_memory_per_user == 0)
		return room;
	uint64_t used = quota_ring_bytes(server, uid), limit = config->ring_memory_per_user;
	uint64_t left = limit > used ? limit - used : 0;
	if (left < room.bytes)
		room = (struct quota_room){left, limit, "ring-memory-per-user", ERROR_LIMIT};
	return room;
}
