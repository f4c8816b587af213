/* SPDX-License-Identifier: MIT */
/*
 * How state and engine speak to a client without knowing its connection, which implements this.
 * Loop thread.
 */
#ifndef STOKER_LOOP_STATE_OUTBOX_H
#define STOKER_LOOP_STATE_OUTBOX_H

struct message;

struct outbox {
	/* Queue the message; `fd` (-1: none) goes with its first byte and stays the caller's. Never
	 * closes the connection: the caller may go on using it in this iteration. */
	void (*send)(struct outbox *outbox, const struct message *message, int fd);
};

static inline void outbox_send(struct outbox *outbox, const struct message *message)
{
	outbox->send(outbox, message, -1);
}

static inline void outbox_send_fd(struct outbox *outbox, const struct message *message, int fd)
{
	outbox->send(outbox, message, fd);
}

#endif
