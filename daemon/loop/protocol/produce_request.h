/* SPDX-License-Identifier: MIT */
/*
 * Producers on the data socket: PRODUCE, MADE, FAILED, DETACH, and what becomes of a producer that
 * is late or gone. What they say is hostile: lengths, places and numbers are checked. Loop thread.
 */
#ifndef STOKER_LOOP_PROTOCOL_PRODUCE_REQUEST_H
#define STOKER_LOOP_PROTOCOL_PRODUCE_REQUEST_H

#include <stdint.h>

struct message;
struct session;

void produce_request(struct session *session, const struct message *message);
void produce_request_made(struct session *session, const struct message *message);
void produce_request_failed(struct session *session, const struct message *message);
/* DETACH: it makes no more. */
void produce_request_leave(struct session *session);
/* Each second: cut off a producer whose sample takes too long. */
void produce_request_tick(struct session *session, uint64_t now_ns);
/* The connection ends. */
void produce_request_end(struct session *session);

#endif
