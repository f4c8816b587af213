// SPDX-License-Identifier: MIT
#include "loop/os/wakeup.h"

#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Nothing is to be done but to have woken up: the step follows. */
static void wakeup_seen(uv_poll_t *poll, int status, int events)
{
	struct wakeup *wakeup = poll->data;
	eventfd_t count;
	(void)status;
	(void)events;
	if (eventfd_read(wakeup->fd, &count) < 0)
		errno = 0; /* it was not this one */
	atomic_store(&wakeup->sent, false);
}

int wakeup_init(struct wakeup *wakeup, uv_loop_t *loop)
{
	*wakeup = WAKEUP_NULL;
	wakeup->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wakeup->fd < 0)
		return -errno;
	int r = uv_poll_init(loop, &wakeup->poll, wakeup->fd);
	if (r < 0) {
		wakeup_deinit(wakeup);
		return r;
	}
	wakeup->poll.data = wakeup;
	return uv_poll_start(&wakeup->poll, UV_READABLE, wakeup_seen);
}

void wakeup_send(void *context)
{
	struct wakeup *wakeup = context;
	if (atomic_exchange(&wakeup->sent, true))
		return;
	int r = eventfd_write(wakeup->fd, 1);
	assert(r == 0); /* the counter is never near its end */
	(void)r;
}

void wakeup_deinit(struct wakeup *wakeup)
{
	if (wakeup->fd >= 0)
		close(wakeup->fd);
	wakeup->fd = -1;
}
