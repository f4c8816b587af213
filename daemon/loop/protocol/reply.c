// SPDX-License-Identifier: MIT
#include "loop/protocol/reply.h"

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

void reply_no_memory(struct session *session, uint64_t seq)
{
	reply_error(session, ERROR_INTERNAL, seq, "out of memory");
}

void reply_pack_digest(struct packer *packer, const char *key, struct digest digest)
{
	char hex[33];
	digest_hex(&digest, hex);
	pack_key_string(packer, key, hex);
}
