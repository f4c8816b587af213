/* SPDX-License-Identifier: MIT */
/*
 * An attachment: an ATTACH on its way to being a reader. Owned by the session it is for; loop
 * thread, with the blocking steps in tasks. The functions of attach.c stand in the order of the
 * way:
 *
 *   arguments --> dataset (catalog) --> sampler (sampler task, if there is one)
 *             --> stream --> ring: join one | wait for one | make one --> reader, ATTACHED
 *
 * Whatever goes wrong ends in one ERROR, and the session is READY again.
 */
#ifndef STOKER_LOOP_PROTOCOL_ATTACH_H
#define STOKER_LOOP_PROTOCOL_ATTACH_H

struct attachment;
struct message;
struct session;

/* Begin; the answer (ATTACHED or ERROR) comes now or later. */
void attachment_begin(struct session *session, const struct message *message);
/* Tell the client how far it is. */
void attachment_progress(struct attachment *attachment);
/* Leave what is attached or being attached; leases stay. The session is READY. */
void session_detach(struct session *session);

#endif
