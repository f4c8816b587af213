// SPDX-License-Identifier: MIT
#include "loop/protocol/data.h"

#include "loop/engine/deliver.h"
#include "loop/engine/produce.h"
#include "loop/policy/quota.h"
#include "loop/protocol/attach.h"
#include "loop/protocol/connection.h"
#include "loop/protocol/listing.h"
#include "loop/protocol/session.h"
#include "loop/server.h"
#include "loop/state/catalog.h"
#include "loop/state/lease.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"

void data_attach(struct session *session, const struct message *message)
{
	if (session->peer->server->stopping) {
		session_error(session, ERROR_STOPPING, message->attach.seq,
			      "the daemon is about to stop: attach again when it is back");
		return;
	}
	struct fault fault;
	if (quota_reader(session, &fault))
		session_error(session, ERROR_LIMIT, message->attach.seq, fault.text);
	else
		attachment_begin(session, &message->attach);
}

void data_detach(struct session *session, const struct message *message)
{
	session_detach(session);
	session_ok(session, message->detach.seq);
}

void data_credit(struct session *session, const struct message *message)
{
	session->reader->inflight = (unsigned)message->credit.inflight;
	deliver(session->reader);
	produce(session->peer->server); /* what was announced may have made room */
}

void data_release(struct session *session, const struct message *message)
{
	struct server *server = session->peer->server;
	struct lease *lease = lease_find(session, message->release.lease);
	if (!lease) {
		server_count(server, COUNTER_BAD_RELEASES, 1);
		session_error(session, ERROR_LEASE, 0,
			      "there is no such lease: it was never granted, or is released");
		return;
	}
	lease_drop(lease);
	if (session->reader)
		deliver(session->reader);
	produce(server);
}

void data_list(struct session *session, const struct message *message)
{
	const struct message_list *list = &message->list;
	if (text_equals(list->what, "classes"))
		listing_classes(session, list, session->reader->stream->entry->dataset);
	else if (text_equals(list->what, "paths"))
		listing_paths(session, list, session->reader->stream->entry->dataset);
	else if (text_equals(list->what, "reader"))
		listing_own(session, list);
	else
		session_error(
			session, ERROR_ARGUMENT, list->seq,
			"a reader can list its dataset's classes and paths, and itself (reader)");
}
