/* SPDX-License-Identifier: MIT */
/*
 * A bell: any thread rings it, and the loop thread answers, once for all that rang meanwhile. Owns
 * an eventfd. In place of libuv's uv_async_t, which has the loop wait for whoever rang to run
 * again: a worker, being nicer than the loop, has just lost its core to it.
 */
#ifndef STOKER_LOOP_OS_WAKEUP_H
#define STOKER_LOOP_OS_WAKEUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

struct bell {
	uv_poll_t poll;
	int fd;
	atomic_bool rung; /* and not answered yet */
	void (*answer)(void *context);
	void *context;
};
#define BELL_NULL ((struct bell){.fd = -1})

/* 0 or a negative errno. */
int bell_init(struct bell *bell, uv_loop_t *loop, void (*answer)(void *context), void *context);
void bell_ring(void *bell); /* any thread; does not block; such as a pool's `wake` is */
/* After libuv has let go of its handle; may be called twice, and on BELL_NULL. */
void bell_deinit(struct bell *bell);

#endif
