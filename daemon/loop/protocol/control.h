/* SPDX-License-Identifier: MIT */
/* Handlers of the messages of the control socket (see session.c). Loop thread. */
#ifndef STOKER_LOOP_PROTOCOL_CONTROL_H
#define STOKER_LOOP_PROTOCOL_CONTROL_H

struct message;
struct session;

void control_status(struct session *session, const struct message *message);
void control_list(struct session *session, const struct message *message);
void control_set(struct session *session, const struct message *message);
void control_reload(struct session *session, const struct message *message);
void control_drop(struct session *session, const struct message *message);
void control_pin(struct session *session, const struct message *message);
void control_stop(struct session *session, const struct message *message);

#endif
