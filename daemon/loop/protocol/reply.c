// SPDX-License-Identifier: MIT
#include "loop/protocol/reply.h"

#include <string.h>

#include "loop/protocol/session_state.h"
#include "proto/pack.h"

void reply_ok(struct session *session, uint64_t seq)
{
	struct message message = message_init(MESSAGE_OK);
	message.ok.seq = seq;
	connection_send(&session->connection, &message);
}

void reply_error(struct session *session, unsigned code, uint64_t seq, const char *text)
{
	connection_send_error(&session->connection, code, seq, text);
}

void reply_other_token(struct session *session, uint64_t seq, const char *text,
		       struct text description)
{
	struct message reply = message_init(MESSAGE_ERROR);
	reply.error.seq = seq;
	reply.error.code = ERROR_TOKEN;
	reply.error.name = (struct text){error_name(ERROR_TOKEN), strlen(error_name(ERROR_TOKEN))};
	reply.error.text = (struct text){text, strlen(text)};
	reply.error.description.packed = description;
	connection_send(&session->connection, &reply);
}

void reply_no_memory(struct session *session, uint64_t seq)
{
	reply_error(session, ERROR_INTERNAL, seq, "out of memory");
}

void reply_report(struct session *session, uint64_t seq, enum row_kind kind, const void *row)
{
	struct packer *packer = session->protocol->packer;
	struct message reply = message_init(MESSAGE_REPORT);
	packer_clear(packer);
	row_pack(packer, kind, row);
	if (packer_bytes(packer, &reply.report.values.packed) < 0) {
		reply_no_memory(session, seq);
		return;
	}
	reply.report.seq = seq;
	connection_send(&session->connection, &reply);
}
