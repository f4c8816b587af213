/* SPDX-License-Identifier: MIT */
/*
 * Wake-up: any thread ends the loop's sleep; several that come before the loop has answered count
 * once. Owns an eventfd. Used instead of libuv's uv_async_t, which makes the loop wait (in
 * uv_async_send()'s handshake) until the thread that woke it runs again: a worker, being nicer than
 * the loop, has just lost its core to it.
 */
#ifndef STOKER_LOOP_OS_WAKEUP_H
#define STOKER_LOOP_OS_WAKEUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

struct wakeup {
	uv_poll_t poll;
	int fd;
	atomic_bool sent; /* and not seen by the loop yet */
};
#define WAKEUP_NULL ((struct wakeup){.fd = -1})

int wakeup_init(struct wakeup *wakeup, uv_loop_t *loop); /* 0 or a negative errno */
void wakeup_send(void *wakeup); /* any thread; does not block; fits a pool's `wake` */
/* After libuv has let go of its handle; may be called twice, and on WAKEUP_NULL. */
void wakeup_deinit(struct wakeup *wakeup);

#endif
