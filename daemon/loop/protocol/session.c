// SPDX-License-Identifier: MIT
#include "loop/protocol/session.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log_user.h"
#include "loop/protocol/attach.h"
#include "loop/protocol/control.h"
#include "loop/protocol/data.h"
#include "loop/protocol/index_request.h"
#include "loop/protocol/produce_request.h"
#include "loop/protocol/reply.h"
#include "loop/state/core.h"
#include "loop/state/user.h"
#include "proto/pack.h"

#define LONG_LEASE_NS 60000000000u

/* -- messages ----------------------------------------------------------------------------- */

/* Capabilities: transports, descriptors and credentials from the client, the word for ATTACH's
 * resize and the field of it that older daemons do not know, then the kinds of datasets. */
static void welcome(struct session *session, uint64_t seq)
{
	static const char *const first[] = {"fd",	   "path",	"descriptors",
					    "credentials", "pillow-13", "like"};
	const uint32_t count = sizeof(first) / sizeof(*first);
	struct packer *packer = session->protocol->packer;
	struct message message = message_init(MESSAGE_WELCOME);
	const char *name = "stokerd " STOKER_VERSION;
	packer_clear(packer);
	uint32_t kinds = 0;
	while (dataset_kind_at(kinds))
		kinds++;
	pack_list(packer, count + kinds);
	for (uint32_t i = 0; i < count; i++)
		pack_string(packer, first[i]);
	for (uint32_t i = 0; i < kinds; i++)
		pack_string(packer, dataset_kind_at(i));
	if (packer_bytes(packer, &message.welcome.capabilities.packed) < 0) {
		reply_no_memory(session, seq);
		return;
	}
	message.welcome.seq = seq;
	message.welcome.version = PROTO_VERSION;
	message.welcome.daemon = (struct text){name, strlen(name)};
	message.welcome.pid = (uint64_t)getpid();
	connection_send(&session->connection, &message);
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
		connection_fail(&session->connection, ERROR_VERSION, (uint32_t)hello->seq, text);
		return;
	}
	text_copy(session->client, sizeof(session->client), hello->client);
	session->state = SESSION_READY;
	session->connection.greeted = true;
	welcome(session, hello->seq);
}

static void on_ping(struct session *session, const struct message *message)
{
	reply_ok(session, message->ping.seq);
}

#define GREETED (SESSION_READY | SESSION_ATTACHING | SESSION_ATTACHED | SESSION_PRODUCING)

static const struct route {
	enum message_kind kind;
	enum message_socket socket;
	unsigned states;
	void (*handle)(struct session *session, const struct message *message);
} routes[] = {
	{MESSAGE_HELLO, MESSAGE_ON_BOTH, SESSION_NEW, on_hello},
	{MESSAGE_PING, MESSAGE_ON_BOTH, GREETED, on_ping},
	{MESSAGE_ATTACH, MESSAGE_ON_DATA, SESSION_READY, data_attach},
	{MESSAGE_DETACH, MESSAGE_ON_DATA, SESSION_ATTACHING | SESSION_ATTACHED | SESSION_PRODUCING,
	 data_detach},
	{MESSAGE_CREDIT, MESSAGE_ON_DATA, SESSION_ATTACHED, data_credit},
	{MESSAGE_RELEASE, MESSAGE_ON_DATA, GREETED, data_release},
	{MESSAGE_CREDENTIALS, MESSAGE_ON_DATA, GREETED, data_credentials},
	{MESSAGE_PRODUCE, MESSAGE_ON_DATA, SESSION_READY, produce_request},
	{MESSAGE_MADE, MESSAGE_ON_DATA, SESSION_PRODUCING, produce_request_made},
	{MESSAGE_FAILED, MESSAGE_ON_DATA, SESSION_PRODUCING, produce_request_failed},
	{MESSAGE_LIST, MESSAGE_ON_DATA, SESSION_READY | SESSION_ATTACHED, data_list},
	{MESSAGE_LIST, MESSAGE_ON_CONTROL, SESSION_READY, control_list},
	{MESSAGE_STATUS, MESSAGE_ON_CONTROL, SESSION_READY, control_status},
	{MESSAGE_SET, MESSAGE_ON_CONTROL, SESSION_READY, control_set},
	{MESSAGE_RELOAD, MESSAGE_ON_CONTROL, SESSION_READY, control_reload},
	{MESSAGE_DROP, MESSAGE_ON_CONTROL, SESSION_READY, control_drop},
	{MESSAGE_PIN, MESSAGE_ON_CONTROL, SESSION_READY, control_pin},
	{MESSAGE_STOP, MESSAGE_ON_CONTROL, SESSION_READY, control_stop},
	{MESSAGE_INDEX, MESSAGE_ON_CONTROL, SESSION_READY, index_request_index},
	{MESSAGE_FIT, MESSAGE_ON_BOTH, SESSION_READY, index_request_fit},
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
	case SESSION_PRODUCING:
		return "producing";
	}
	return "?";
}

/* Every protocol error ends here: one message to that client, one count, one line, and out. */
static void protocol_error(struct session *session, unsigned code, uint32_t seq, const char *text)
{
	core_count(session->protocol->core, COUNTER_PROTOCOL_ERRORS, 1);
	connection_fail(&session->connection, code, seq, text);
}

static void session_frame(struct connection *connection, const uint8_t *bytes, size_t size)
{
	struct session *session = list_entry(connection, struct session, connection);
	struct message message;
	struct message_fault fault;
	char text[160];
	int r = message_decode(bytes, size, session->protocol->memory, &message, &fault);
	if (r < 0) {
		connection_fail(connection, ERROR_INTERNAL, 0, "out of memory");
		return;
	}
	if (r > 0) {
		protocol_error(session, fault.code, fault.seq, fault.text);
		return;
	}
	const struct route *route = route_find(message.kind, session->socket);
	if (!route) {
		snprintf(text, sizeof(text), "the daemon does not take %s on the %s socket",
			 message_name(message.kind),
			 session->socket == MESSAGE_ON_DATA ? "data" : "control");
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

/* -- begin and end ------------------------------------------------------------------------ */

static void session_count(struct session *session, int by)
{
	struct protocol *protocol = session->protocol;
	if (session->socket == MESSAGE_ON_DATA)
		protocol->data_connections += (unsigned)by;
	else
		protocol->control_connections += (unsigned)by;
	if (session->user)
		session->user->connections += (unsigned)by;
}

static void session_end(struct connection *connection)
{
	struct session *session = list_entry(connection, struct session, connection);
	lease_book_deinit(&session->leases);
	if (session->index_request)
		index_request_cancel(session->index_request);
	session_detach(session);
	produce_request_end(session);
	session_count(session, -1);
	list_remove(&session->link);
}

static void session_free(struct connection *connection)
{
	struct session *session = list_entry(connection, struct session, connection);
	assert(!session->reader && !session->attachment && !session->index_request);
	if (session->user)
		user_put(session->user);
	credentials_deinit(&session->credentials);
	writer_deinit(&session->metrics);
	free(session);
}

static const struct connection_events events = {session_frame, session_end, session_free};

void session_new(struct protocol *protocol, int fd, struct credentials *credentials,
		 enum message_socket socket)
{
	struct core *core = protocol->core;
	struct session *session = calloc(1, sizeof(*session));
	if (session && socket == MESSAGE_ON_DATA)
		session->user = user_get(core->users, credentials->uid);
	if (!session || (socket == MESSAGE_ON_DATA && !session->user)) {
		free(session);
		connection_refuse(fd, ERROR_INTERNAL, "out of memory");
		return;
	}
	session->protocol = protocol;
	session->credentials = *credentials;
	*credentials = CREDENTIALS_NULL;
	session->id = core_new_id(core);
	session->socket = socket;
	session->state = SESSION_NEW;
	lease_book_init(&session->leases);
	int r = connection_open(&session->connection, core, fd, session->credentials.pid,
				session->credentials.uid, session->user, &events,
				protocol->scratch);
	if (r < 0) {
		log_error("cannot serve a connection: %s", strerror(-r));
		session_free(&session->connection);
		return;
	}
	list_append(&protocol->sessions, &session->link);
	session_count(session, 1);
}

/* -- all of them -------------------------------------------------------------------------- */

int protocol_init(struct protocol *protocol, struct core *core)
{
	protocol->core = core;
	protocol->started_ns = clock_ns();
	list_init(&protocol->sessions);
	int r = decoder_memory_new(&protocol->memory);
	r = r < 0 ? r : packer_new(&protocol->packer);
	return r < 0 ? r : packer_new(&protocol->items);
}

void protocol_deinit(struct protocol *protocol)
{
	packer_free(protocol->items);
	packer_free(protocol->packer);
	decoder_memory_free(protocol->memory);
}

/* End a connection whose batch was kept too long. The memory cannot be taken back while the client
 * may read it, so the client hears that it is used again. */
static void session_expire(struct session *session, double seconds)
{
	struct core *core = session->protocol->core;
	char text[320];
	snprintf(text, sizeof(text),
		 "a batch was held for %.1f s, longer than lease-timeout (%.1f s), and its memory "
		 "is used again: release batches sooner (copy what is kept), or raise "
		 "lease-timeout",
		 seconds, core->config->lease_timeout_ms * 1e-3);
	core_count(core, COUNTER_LEASES_EXPIRED, session->leases.count);
	connection_fail(&session->connection, ERROR_TIMEOUT, 0, text);
}

static void session_check_leases(struct session *session, uint64_t now_ns)
{
	struct core *core = session->protocol->core;
	uint64_t timeout_ns = (uint64_t)core->config->lease_timeout_ms * 1000000u;
	if (list_empty(&session->leases.leases))
		return;
	const struct lease *oldest = list_entry(session->leases.leases.next, struct lease, in_book);
	uint64_t age_ns = now_ns - oldest->since_ns;
	if (timeout_ns && age_ns > timeout_ns) {
		session_expire(session, (double)age_ns * 1e-9);
	} else if (age_ns > LONG_LEASE_NS && !session->long_lease_warned) {
		session->long_lease_warned = true;
		log_user(session->connection.uid, LOG_CLIENTS, LOG_LEVEL_WARNING,
			 "pid %d has held a batch for a minute; readers that share its ring "
			 "may wait for it (lease-timeout limits that)",
			 (int)session->connection.pid);
	}
}

void protocol_tick(struct protocol *protocol, uint64_t now_ns)
{
	passed_fds_look_all(protocol->core, false);
	list_for_each(session, next, &protocol->sessions, struct session, link) {
		if (session->attachment)
			attachment_progress(session->attachment);
		else if (session->index_request)
			index_request_progress(session->index_request);
		produce_request_tick(session, now_ns);
		connection_tick(&session->connection, now_ns);
		if (!session->connection.closing)
			session_check_leases(session, now_ns);
	}
}

void protocol_stop(struct protocol *protocol, const char *why)
{
	char text[160];
	struct message message = message_init(MESSAGE_GOAWAY);
	snprintf(text, sizeof(text),
		 "the daemon stops (%s): finish what you hold, attach again later", why);
	message.goaway.text = (struct text){text, strlen(text)};
	message.goaway.deadline_ms = protocol->core->config->drain_timeout_ms;
	list_for_each(session, next, &protocol->sessions, struct session, link) {
		if (session->socket == MESSAGE_ON_DATA && session->connection.greeted)
			connection_send(&session->connection, &message);
		if (session->index_request)
			index_request_stop(session->index_request);
	}
}

void protocol_close_all(struct protocol *protocol)
{
	list_for_each(session, next, &protocol->sessions, struct session, link)
		connection_close(&session->connection);
	passed_fds_look_all(protocol->core, true);
}
