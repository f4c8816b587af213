/* SPDX-License-Identifier: MIT */
/*
 * Interface by which state and engine speak to a client without knowing its connection, which
 * implements it. Loop thread.
 */
#ifndef STOKER_LOOP_STATE_OUTBOX_H
#define STOKER_LOOP_STATE_OUTBOX_H

#include <stdbool.h>

struct message;

struct outbox {
	/* Queue the message; `fd` (-1: none) goes with its first byte and stays the caller's. Never
	 * closes the connection: the caller may go on using it in this iteration. */
	void (*send)(struct outbox *outbox, const struct message *message, int fd);
	/* Has the client read all that was sent? True where the system does not tell. */
	bool (*is_read)(const struct outbox *outbox);
};

static inline void outbox_send(struct outbox *outbox, const struct message *message)
{
	outbox->send(outbox, message, -1);
}

static inline void outbox_send_fd(struct outbox *outbox, const struct message *message, int fd)
{
	outbox->send(outbox, message, fd);
}

static inline bool outbox_is_read(const struct outbox *outbox)
{
	return outbox->is_read(outbox);
}

#endif
