// SPDX-License-Identifier: MIT
#include "loop/protocol/control.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/quote.h"
#include "loop/protocol/listing.h"
#include "loop/protocol/reply.h"
#include "loop/protocol/session_state.h"
#include "loop/state/core.h"
#include "proto/pack.h"

void control_status(struct session *session, const struct message *message)
{
	const struct protocol *protocol = session->protocol;
	struct core *core = protocol->core;
	const struct config *config = core->config;
	struct packer *packer = protocol->packer;
	struct message reply = message_init(MESSAGE_REPORT);
	core_gather(core);
	packer_clear(packer);
	size_t map = pack_map_begin(packer);
	pack_key_string(packer, "version", STOKER_VERSION);
	pack_key_string(packer, "socket", protocol->socket);
	pack_key_string(packer, "state", core->stopping ? "stopping" : "running");
	pack_key_uint(packer, "pid", (uint64_t)getpid());
	pack_key_uint(packer, "uptime_s", (clock_ns() - protocol->started_ns) / 1000000000u);
	pack_key_uint(packer, "ring_memory", config->ring_memory);
	pack_key_uint(packer, "index_memory", config->index_memory);
	pack_key_uint(packer, "max_connections", config->max_connections);
	pack_key_uint(packer, "max_readers_per_user", config->max_readers_per_user);
	pack_key_uint(packer, "ring_memory_per_user", config->ring_memory_per_user);
	pack_key_uint(packer, "queued_per_user", config->queued_per_user);
	/* Rounded up: 0 would say that there is none. */
	pack_key_uint(packer, "lease_timeout_s", (config->lease_timeout_ms + 999u) / 1000);
	for (int i = 0; i < COUNTER_COUNT; i++)
		pack_key_uint(packer, counter_name((enum counter)i), core->counters[i]);
	pack_map_end(packer, map);
	if (packer_bytes(packer, &reply.report.values.packed) < 0) {
		reply_no_memory(session, message->status.seq);
		return;
	}
	reply.report.seq = message->status.seq;
	connection_send(&session->connection, &reply);
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
	struct quote quote;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (!text_equals(message->list.what, lists[i].what))
			continue;
		lists[i].list(session, &message->list);
		return;
	}
	char text[160];
	snprintf(text, sizeof(text),
		 "unknown list '%.64s': expected streams, readers, datasets or bad",
		 quote_bytes(&quote, message->list.what.data, message->list.what.size));
	reply_error(session, ERROR_ARGUMENT, message->list.seq, text);
}

/* Who may tune the daemon may also see why a value is refused. */
void control_set(struct session *session, const struct message *message)
{
	struct protocol *protocol = session->protocol;
	const struct message_set *set = &message->set;
	char name[65], value[256];
	struct fault fault;
	snprintf(name, sizeof(name), "%.*s", (int)set->name.size, set->name.data);
	snprintf(value, sizeof(value), "%.*s", (int)set->value.size, set->value.data);
	if (protocol->server.set(protocol, name, value, &fault)) {
		reply_error(session, ERROR_SETTING, set->seq, fault.text);
		return;
	}
	log_info("set %s to %s, as uid %u asked", name, value, (unsigned)session->connection.uid);
	reply_ok(session, set->seq);
}

void control_stop(struct session *session, const struct message *message)
{
	struct protocol *protocol = session->protocol;
	reply_ok(session, message->stop.seq);
	protocol->server.stop(protocol, "stokerctl stop");
}
