/* SPDX-License-Identifier: MIT */
/* Answers to a request: OK, an ERROR that leaves the connection as it is, or a REPORT. Loop thread.
 */
#ifndef STOKER_LOOP_PROTOCOL_REPLY_H
#define STOKER_LOOP_PROTOCOL_REPLY_H

#include <stdint.h>

#include "proto/row.h"
#include "proto/value.h"

struct session;

void reply_ok(struct session *session, uint64_t seq);
void reply_error(struct session *session, unsigned code, uint64_t seq, const char *text);
/* ERROR `token`, with the description of what the ATTACH asked for; it may be empty. */
void reply_other_token(struct session *session, uint64_t seq, const char *text,
		       struct text description);
void reply_no_memory(struct session *session, uint64_t seq);
/* A REPORT: the columns of `row`, a struct of this kind, in the protocol's packer. */
void reply_report(struct session *session, uint64_t seq, enum row_kind kind, const void *row);

#endif
