// SPDX-License-Identifier: MIT
#include "loop/protocol/control.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "loop/engine/index_task.h"
#include "loop/engine/produce.h"
#include "loop/protocol/connection.h"
#include "loop/protocol/listing.h"
#include "loop/protocol/session.h"
#include "loop/server.h"
#include "proto/pack.h"

static void pack_setting(struct packer *packer, const char *key, uint64_t value)
{
	pack_string(packer, key);
	pack_uint(packer, value);
}

void control_status(struct session *session, const struct message *message)
{
	struct server *server = session->peer->server;
	struct packer *packer = server->packer;
	struct message reply = message_init(MESSAGE_REPORT);
	server_gather(server);
	packer_clear(packer);
	pack_map(packer, COUNTER_COUNT + 12);
	pack_string(packer, "version");
	pack_string(packer, STOKER_VERSION);
	pack_string(packer, "socket");
	pack_string(packer, server->data.path);
	pack_string(packer, "state");
	pack_string(packer, server->stopping ? "stopping" : "running");
	pack_setting(packer, "pid", (uint64_t)getpid());
	pack_setting(packer, "uptime_s", (clock_ns() - server->started_ns) / 1000000000u);
	pack_setting(packer, "ring_memory", server->config->ring_memory);
	pack_setting(packer, "index_memory", server->config->index_memory);
	pack_setting(packer, "max_connections", server->config->max_connections);
	pack_setting(packer, "max_readers_per_user", server->config->max_readers_per_user);
	pack_setting(packer, "ring_memory_per_user", server->config->ring_memory_per_user);
	pack_setting(packer, "queued_per_user", server->config->queued_per_user);
	/* Rounded up: 0 would say that there is none. */
	pack_setting(packer, "lease_timeout_s", (server->config->lease_timeout_ms + 999u) / 1000);
	for (int i = 0; i < COUNTER_COUNT; i++)
		pack_setting(packer, counter_name((enum counter)i), server->counters[i]);
	if (packer_bytes(packer, &reply.report.values.packed) < 0) {
		session_error(session, ERROR_INTERNAL, message->status.seq, "out of memory");
		return;
	}
	reply.report.seq = message->status.seq;
	peer_send(session->peer, &reply);
}

void control_list(struct session *session, const struct message *message)
{
	static const struct {
		const char *what;
		void (*list)(struct session *session, const struct message_list *list);
	} lists[] = {
		{"streams", listing_streams},
		{"readers", listing_readers},
		{"datasets", listing_datasets},
		{"bad", listing_bad},
	};
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (!text_equals(message->list.what, lists[i].what))
			continue;
		lists[i].list(session, &message->list);
		return;
	}
	session_error(session, ERROR_ARGUMENT, message->list.seq,
		      "there are lists of streams, readers, datasets and bad");
}

/* Whoever may tune the daemon sees the words of what cannot be. */
void control_set(struct session *session, const struct message *message)
{
	struct server *server = session->peer->server;
	const struct message_set *set = &message->set;
	char name[65], value[256];
	struct fault fault;
	snprintf(name, sizeof(name), "%.*s", (int)set->name.size, set->name.data);
	snprintf(value, sizeof(value), "%.*s", (int)set->value.size, set->value.data);
	if (server_set(server, name, value, &fault)) {
		session_error(session, ERROR_SETTING, set->seq, fault.text);
		return;
	}
	log_info("set %s to %s, as uid %u asked", name, value, (unsigned)session->peer->uid);
	session_ok(session, set->seq);
	produce(server);
}

void control_index(struct session *session, const struct message *message)
{
	visit_begin(session, &message->index);
}

void control_stop(struct session *session, const struct message *message)
{
	session_ok(session, message->stop.seq);
	server_stop(session->peer->server, "stokerctl stop");
}
