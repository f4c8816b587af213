// SPDX-License-Identifier: MIT
#include "loop/protocol/data.h"

#include "loop/engine/step.h"
#include "loop/policy/quota.h"
#include "loop/protocol/attach.h"
#include "loop/protocol/listing.h"
#include "loop/protocol/reply.h"
#include "loop/protocol/session_state.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/reader.h"
#include "loop/state/remnant.h"
#include "loop/state/stream.h"

void data_attach(struct session *session, const struct message *message)
{
	struct core *core = session->protocol->core;
	struct fault fault;
	if (core->stopping) {
		reply_error(session, ERROR_STOPPING, message->attach.seq,
			    "the daemon is about to stop: attach again when it is back");
		return;
	}
	step_rings(core);
	remnants_look(core);
	if (quota_reader(core, session->connection.uid, &session->leases, &fault))
		reply_error(session, ERROR_LIMIT, message->attach.seq, fault.text);
	else
		attachment_begin(session, &message->attach);
}

void data_detach(struct session *session, const struct message *message)
{
	session_detach(session);
	reply_ok(session, message->detach.seq);
}

void data_credit(struct session *session, const struct message *message)
{
	session->reader->inflight = (unsigned)message->credit.inflight;
	reader_touch(session->reader);
}

void data_release(struct session *session, const struct message *message)
{
	struct lease *lease = lease_find(&session->leases, message->release.lease);
	if (!lease) {
		core_count(session->protocol->core, COUNTER_BAD_RELEASES, 1);
		reply_error(session, ERROR_LEASE, 0,
			    "there is no such lease: it was never granted, or is released");
		return;
	}
	lease_drop(lease);
	if (session->reader)
		reader_touch(session->reader);
}

void data_list(struct session *session, const struct message *message)
{
	const struct message_list *list = &message->list;
	const struct dataset *dataset = session->reader->stream->entry->dataset;
	if (text_equals(list->what, "classes"))
		listing_classes(session, list, dataset);
	else if (text_equals(list->what, "paths"))
		listing_paths(session, list, dataset);
	else if (text_equals(list->what, "reader"))
		listing_own(session, list);
	else
		reply_error(session, ERROR_ARGUMENT, list->seq,
			    "unknown list: a reader can list classes, paths and reader (itself)");
}
