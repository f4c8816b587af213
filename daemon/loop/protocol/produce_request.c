// SPDX-License-Identifier: MIT
#include "loop/protocol/produce_request.h"

#include <stdio.h>
#include <string.h>

#include "loop/engine/group.h"
#include "loop/engine/lend.h"
#include "loop/policy/quota.h"
#include "loop/protocol/reply.h"
#include "loop/protocol/session_state.h"
#include "loop/state/core.h"
#include "loop/state/producer.h"

#define AREA_BYTES ((size_t)4 << 20) /* of a group, until samples are larger */
#define FIRST_DEADLINES 10	     /* the first call may import and open things */

static void produce_begin(struct session *session, const struct message_produce *produce)
{
	struct core *core = session->protocol->core;
	char identity[CODE_IDENTITY];
	text_copy(identity, sizeof(identity), produce->code);
	struct code *code = code_get(core, session->connection.uid, identity,
				     (const uint8_t *)produce->secret.data);
	if (!code) {
		reply_no_memory(session, produce->seq);
		return;
	}
	int r = producer_new(&session->producer, code, &session->connection.outbox,
			     session->connection.pid, AREA_BYTES);
	if (r == 0 && produce->check > code->check)
		code->check = produce->check;
	code_put(code);
	if (r < 0) {
		reply_no_memory(session, produce->seq);
		return;
	}
	core_count(core, COUNTER_PRODUCERS, 1);
	text_copy(session->producer->name, sizeof(session->producer->name), produce->name);
	session->producer->own_deadline_ms = produce->deadline_ms;
	session->state = SESSION_PRODUCING;
	group_show_tray(session->producer, produce->seq);
	lend_all(core);
}

void produce_request(struct session *session, const struct message *message)
{
	struct core *core = session->protocol->core;
	struct quota_room room = quota_ring(core, session->connection.uid);
	char text[200];
	if (core->stopping) {
		reply_error(session, ERROR_STOPPING, message->produce.seq,
			    "the daemon is about to stop: attach again when it is back");
	} else if (room.bytes < producer_tray_bytes(AREA_BYTES)) {
		snprintf(text, sizeof(text),
			 "a producer needs %zu MiB of shared memory, and %llu MiB are left (%s is "
			 "%llu MiB): start fewer",
			 producer_tray_bytes(AREA_BYTES) >> 20,
			 (unsigned long long)room.bytes >> 20, room.option,
			 (unsigned long long)room.limit >> 20);
		reply_error(session, ERROR_MEMORY, message->produce.seq, text);
	} else {
		produce_begin(session, &message->produce);
	}
}

/* Cut the producer off from further samples; those that it has are lent to others. */
static void produce_cut_off(struct session *session, unsigned code, const char *text)
{
	produce_request_end(session);
	connection_fail(&session->connection, code, 0, text);
	lend_all(session->protocol->core);
}

static void produce_violation(struct session *session, const struct fault *fault)
{
	core_count(session->protocol->core, COUNTER_PROTOCOL_ERRORS, 1);
	produce_cut_off(session, ERROR_FIELD, fault->text);
}

void produce_request_made(struct session *session, const struct message *message)
{
	struct fault fault;
	if (!session->producer) /* it was cut off */
		return;
	if (lend_made(session->producer, message->made.group, message->made.samples.value, &fault))
		produce_violation(session, &fault);
	else
		lend_all(session->protocol->core);
}

void produce_request_failed(struct session *session, const struct message *message)
{
	const struct message_failed *failed = &message->failed;
	char text[sizeof(((struct fault *)0)->text)];
	struct fault fault;
	text_copy(text, sizeof(text), failed->text);
	if (!session->producer)
		return;
	if (lend_failed(session->producer, failed->group, failed->sample, text, failed->needed,
			&fault))
		produce_violation(session, &fault);
	else
		lend_all(session->protocol->core);
}

void produce_request_leave(struct session *session)
{
	struct producer *producer = session->producer;
	session->producer = NULL;
	session->state = SESSION_READY;
	if (producer)
		lend_leave(producer);
	lend_all(session->protocol->core);
}

void produce_request_tick(struct session *session, uint64_t now_ns)
{
	char text[160];
	struct producer *producer = session->producer;
	if (!producer || session->connection.closing)
		return;
	uint64_t limit_ns = producer_deadline_ms(producer) * UINT64_C(1000000);
	if (!producer->first_made)
		limit_ns *= FIRST_DEADLINES;
	uint64_t age_ns = lend_age_ns(producer, now_ns);
	if (age_ns <= limit_ns)
		return;
	snprintf(text, sizeof(text),
		 "the code took longer than %.3g s for a sample (producer-deadline): it is made "
		 "by another producer",
		 (double)limit_ns * 1e-9);
	core_count(session->protocol->core, COUNTER_TIMEOUTS, 1);
	produce_cut_off(session, ERROR_TIMEOUT, text);
}

void produce_request_end(struct session *session)
{
	struct producer *producer = session->producer;
	session->producer = NULL;
	if (producer)
		lend_lose(producer, "the process that ran the user's code ended or took too long");
}
