// SPDX-License-Identifier: MIT
#include "loop/protocol/data.h"

#include <errno.h>

#include "base/clock.h"
#include "loop/engine/loop_step.h"
#include "loop/policy/quota.h"
#include "loop/protocol/attach.h"
#include "loop/protocol/listing.h"
#include "loop/protocol/produce_request.h"
#include "loop/protocol/reply.h"
#include "loop/protocol/session_state.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/orphan.h"
#include "loop/state/reader.h"
#include "loop/state/stream.h"
#include "loop/state/user.h"
#include "storage/remote/user_keys.h"

void data_attach(struct session *session, const struct message *message)
{
	struct core *core = session->protocol->core;
	struct fault fault;
	if (core->stopping) {
		reply_error(session, ERROR_STOPPING, message->attach.seq,
			    "the daemon is about to stop: attach again when it is back");
		return;
	}
	loop_step_rings(core);
	orphans_look(core);
	if (quota_reader(core, session->connection.uid, &session->leases, &fault))
		reply_error(session, ERROR_LIMIT, message->attach.seq, fault.text);
	else
		attachment_begin(session, message);
}

void data_detach(struct session *session, const struct message *message)
{
	if (session->reader)
		catalog_linger(session->reader->stream->entry, clock_ns());
	if (session->state == SESSION_PRODUCING)
		produce_request_leave(session);
	else
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

static unsigned take_credentials(struct session *session,
				 const struct message_credentials *credentials, struct fault *fault)
{
	struct user *user = session->user;
	const struct user_keys_offer offer = {
		.url = credentials->url,
		.key = credentials->key,
		.secret = credentials->secret,
		.token = credentials->token,
		.expires = credentials->expires,
	};
	if (user->uid == CREDENTIALS_UNMAPPED) {
		fault_say(fault, 1,
			  "the daemon cannot tell users of another user namespace apart, and "
			  "takes no credentials from them");
		return ERROR_PERMISSION;
	}
	if (!user->user_keys)
		user->user_keys = user_keys_new(user->uid);
	int r = user->user_keys ? user_keys_put(user->user_keys, &offer, fault) : -ENOMEM;
	if (r < 0)
		fault_say(fault, r, "out of memory");
	return r < 0		       ? ERROR_INTERNAL
	       : r == USER_KEYS_E_FULL ? ERROR_LIMIT
	       : r		       ? ERROR_ARGUMENT
				       : 0;
}

void data_credentials(struct session *session, const struct message *message)
{
	const struct message_credentials *credentials = &message->credentials;
	struct fault fault;
	unsigned code = take_credentials(session, credentials, &fault);
	if (code)
		reply_error(session, code, credentials->seq, fault.text);
	else
		reply_ok(session, credentials->seq);
}

void data_list(struct session *session, const struct message *message)
{
	const struct message_list *list = &message->list;
	if (text_equals(list->what, "description")) {
		listing_description(session, list, &session->connection.uid);
		return;
	}
	if (!session->reader) {
		core_count(session->protocol->core, COUNTER_PROTOCOL_ERRORS, 1);
		connection_fail(&session->connection, ERROR_STATE, 0,
				"list needs an attach first, but for what = 'description'");
		return;
	}
	const struct dataset *dataset = session->reader->stream->entry->dataset;
	if (text_equals(list->what, "classes"))
		listing_classes(session, list, dataset);
	else if (text_equals(list->what, "paths"))
		listing_paths(session, list, dataset);
	else if (text_equals(list->what, "reader"))
		listing_own(session, list);
	else
		reply_error(session, ERROR_ARGUMENT, list->seq,
			    "unknown list: a reader can list classes, paths, reader (itself) and "
			    "description");
}
