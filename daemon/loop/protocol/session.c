// SPDX-License-Identifier: MIT
#include "loop/protocol/session.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loop/engine/index_task.h"
#include "loop/engine/produce.h"
#include "loop/protocol/attach.h"
#include "loop/protocol/connection.h"
#include "loop/protocol/control.h"
#include "loop/protocol/data.h"
#include "loop/server.h"
#include "loop/state/lease.h"
#include "loop/state/reader.h"
#include "proto/pack.h"

#define SESSION_LONG_LEASE_NS 60000000000u

void session_init(struct session *session, struct peer *peer)
{
	*session = (struct session){.peer = peer, .state = SESSION_NEW};
	list_init(&session->leases);
	list_init(&session->spare_leases);
}

void session_detach(struct session *session)
{
	if (session->attachment)
		attachment_cancel(session->attachment);
	if (session->reader)
		reader_free(session->reader);
	session->attachment = NULL;
	session->reader = NULL;
	session->state = SESSION_READY;
	produce(session->peer->server);
}

void session_end(struct session *session)
{
	list_for_each(lease, next, &session->leases, struct lease, in_session)
		lease_drop(lease);
	lease_free_spare(session);
	if (session->visit)
		visit_cancel(session->visit);
	session_detach(session);
}

/* What it holds cannot be taken back while it may read it: the connection goes, and whoever reads
 * on has been told. */
static void session_expire(struct session *session, double seconds)
{
	struct server *server = session->peer->server;
	char text[320];
	snprintf(text, sizeof(text),
		 "a batch was held for %.1f s, longer than lease-timeout (%.1f s), and its memory "
		 "is used again: give batches back sooner (copy what is kept), or raise "
		 "lease-timeout",
		 seconds, server->config->lease_timeout_ms * 1e-3);
	list_for_each(lease, next, &session->leases, struct lease, in_session)
		server_count(server, COUNTER_LEASES_EXPIRED, 1);
	peer_fail(session->peer, ERROR_TIMEOUT, 0, text);
}

void session_check_leases(struct session *session, uint64_t now_ns)
{
	struct peer *peer = session->peer;
	uint64_t timeout_ns = (uint64_t)peer->server->config->lease_timeout_ms * 1000000u;
	if (list_empty(&session->leases))
		return;
	const struct lease *oldest = list_entry(session->leases.next, struct lease, in_session);
	uint64_t age_ns = now_ns - oldest->since_ns;
	if (timeout_ns && age_ns > timeout_ns) {
		session_expire(session, (double)age_ns * 1e-9);
	} else if (age_ns > SESSION_LONG_LEASE_NS && !session->long_lease_told) {
		session->long_lease_told = true;
		server_log_peer(peer->server,
				"pid %d holds a batch for a minute; who shares its ring may wait "
				"for it (lease-timeout is an end to that)",
				(int)peer->pid);
	}
}

bool session_greeted(const struct session *session)
{
	return session->state != SESSION_NEW;
}

void session_error(struct session *session, unsigned code, uint64_t seq, const char *text)
{
	peer_send_error(session->peer, code, seq, text);
}

void session_ok(struct session *session, uint64_t seq)
{
	struct message message = message_init(MESSAGE_OK);
	message.ok.seq = seq;
	peer_send(session->peer, &message);
}

static void welcome(struct session *session, uint64_t seq)
{
	static const char *const capabilities[] = {"fd",    "path",  "folder",	"manifest",
						   "npy",   "npz",   "cifar10", "cifar100",
						   "mnist", "joined"};
	struct packer *packer = session->peer->server->packer;
	struct message message = message_init(MESSAGE_WELCOME);
	const char *name = "stokerd " STOKER_VERSION;
	packer_clear(packer);
	pack_list(packer, sizeof(capabilities) / sizeof(*capabilities));
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(*capabilities); i++)
		pack_string(packer, capabilities[i]);
	if (packer_bytes(packer, &message.welcome.capabilities.packed) < 0) {
		session_error(session, ERROR_INTERNAL, seq, "out of memory");
		return;
	}
	message.welcome.seq = seq;
	message.welcome.version = PROTO_VERSION;
	message.welcome.daemon = (struct text){name, strlen(name)};
	message.welcome.pid = (uint64_t)getpid();
	peer_send(session->peer, &message);
}

static void on_hello(struct session *session, const struct message *message)
{
	const struct message_hello *hello = &message->hello;
	if (hello->version_min > PROTO_VERSION || hello->version_max < PROTO_VERSION) {
		char text[160];
		snprintf(text, sizeof(text),
			 "the client speaks protocol %llu to %llu, this daemon (%s) %d: update %s",
			 (unsigned long long)hello->version_min,
			 (unsigned long long)hello->version_max, STOKER_VERSION, PROTO_VERSION,
			 hello->version_min > PROTO_VERSION ? "stokerd" : "the client");
		peer_fail(session->peer, ERROR_VERSION, (uint32_t)hello->seq, text);
		return;
	}
	text_copy(session->client, sizeof(session->client), hello->client);
	session->state = SESSION_READY;
	welcome(session, hello->seq);
}

static void on_ping(struct session *session, const struct message *message)
{
	session_ok(session, message->ping.seq);
}

static void on_fit(struct session *session, const struct message *message)
{
	visit_begin_fit(session, &message->fit);
}

#define GREETED (SESSION_READY | SESSION_ATTACHING | SESSION_ATTACHED)

static const struct route {
	enum message_kind kind;
	enum message_socket socket;
	unsigned states;
	void (*handle)(struct session *session, const struct message *message);
} routes[] = {
	{MESSAGE_HELLO, MESSAGE_ON_BOTH, SESSION_NEW, on_hello},
	{MESSAGE_PING, MESSAGE_ON_BOTH, GREETED, on_ping},
	{MESSAGE_ATTACH, MESSAGE_ON_DATA, SESSION_READY, data_attach},
	{MESSAGE_DETACH, MESSAGE_ON_DATA, SESSION_ATTACHING | SESSION_ATTACHED, data_detach},
	{MESSAGE_CREDIT, MESSAGE_ON_DATA, SESSION_ATTACHED, data_credit},
	{MESSAGE_RELEASE, MESSAGE_ON_DATA, GREETED, data_release},
	{MESSAGE_LIST, MESSAGE_ON_DATA, SESSION_ATTACHED, data_list},
	{MESSAGE_LIST, MESSAGE_ON_CONTROL, SESSION_READY, control_list},
	{MESSAGE_STATUS, MESSAGE_ON_CONTROL, SESSION_READY, control_status},
	{MESSAGE_SET, MESSAGE_ON_CONTROL, SESSION_READY, control_set},
	{MESSAGE_STOP, MESSAGE_ON_CONTROL, SESSION_READY, control_stop},
	{MESSAGE_INDEX, MESSAGE_ON_CONTROL, SESSION_READY, control_index},
	{MESSAGE_FIT, MESSAGE_ON_BOTH, SESSION_READY, on_fit},
};

static const struct route *route_find(enum message_kind kind, enum message_socket socket)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++)
		if (routes[i].kind == kind && (routes[i].socket & socket))
			return &routes[i];
	return NULL;
}

static const char *state_name(enum session_state state)
{
	switch (state) {
	case SESSION_NEW:
		return "before HELLO";
	case SESSION_READY:
		return "attached to nothing";
	case SESSION_ATTACHING:
		return "attaching";
	case SESSION_ATTACHED:
		return "attached";
	}
	return "?";
}

/* Every protocol error ends here: one message to that peer, one count, one line, and out. */
static void protocol_error(struct session *session, unsigned code, uint32_t seq, const char *text)
{
	server_count(session->peer->server, COUNTER_PROTOCOL_ERRORS, 1);
	peer_fail(session->peer, code, seq, text);
}

void session_frame(struct session *session, const uint8_t *bytes, size_t size)
{
	struct server *server = session->peer->server;
	struct message message;
	struct message_fault fault;
	char text[160];
	int r = message_decode(bytes, size, server->memory, &message, &fault);
	if (r < 0) {
		peer_fail(session->peer, ERROR_INTERNAL, 0, "out of memory");
		return;
	}
	if (r > 0) {
		protocol_error(session, fault.code, fault.seq, fault.text);
		return;
	}
	const struct route *route = route_find(message.kind, session->peer->socket);
	if (!route) {
		snprintf(text, sizeof(text), "%s is no message for the daemon on the %s socket",
			 message_name(message.kind),
			 session->peer->socket == MESSAGE_ON_DATA ? "data" : "control");
		protocol_error(session, ERROR_MESSAGE, 0, text);
		return;
	}
	if (!(route->states & session->state)) {
		snprintf(text, sizeof(text), "%s may not come while the connection is %s",
			 message_name(message.kind), state_name(session->state));
		protocol_error(session, ERROR_STATE, 0, text);
		return;
	}
	route->handle(session, &message);
}
