/* SPDX-License-Identifier: MIT */
/* Handlers of the messages of the data socket (see session.c). Loop thread. */
#ifndef STOKER_LOOP_PROTOCOL_DATA_H
#define STOKER_LOOP_PROTOCOL_DATA_H

struct message;
struct session;

void data_attach(struct session *session, const struct message *message);
void data_detach(struct session *session, const struct message *message);
void data_credit(struct session *session, const struct message *message);
void data_release(struct session *session, const struct message *message);
void data_credentials(struct session *session, const struct message *message);
void data_list(struct session *session, const struct message *message);

#endif
