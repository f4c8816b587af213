/* SPDX-License-Identifier: MIT */
/*
 * SIGTERM, SIGINT and SIGHUP as events of the loop. They are blocked in all threads from
 * signals_open() on and stay so to the end of the process: one that comes late, after the loop,
 * changes nothing. Owns a signalfd. Loop thread.
 */
#ifndef STOKER_LOOP_OS_SIGNALS_H
#define STOKER_LOOP_OS_SIGNALS_H

#include <uv.h>

struct signals {
	uv_poll_t poll;
	int fd;
	void (*on_signal)(struct signals *signals, int number);
};
#define SIGNALS_NULL ((struct signals){.fd = -1})

/* Before any thread is started, which would not have them blocked. 0 or a negative errno. */
int signals_open(struct signals *signals, uv_loop_t *loop,
		 void (*on_signal)(struct signals *signals, int number));
/* From now on they are ignored. May be called twice, and on SIGNALS_NULL. */
void signals_stop(struct signals *signals);
/* After libuv has let go of its handle; may be called twice, and on SIGNALS_NULL. */
void signals_deinit(struct signals *signals);

#endif
