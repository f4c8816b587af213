// SPDX-License-Identifier: MIT
#include "loop/os/wakeup.h"

#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void bell_heard(uv_poll_t *poll, int status, int events)
{
	struct bell *bell = poll->data;
	eventfd_t count;
	(void)status;
	(void)events;
	if (eventfd_read(bell->fd, &count) < 0)
		errno = 0; /* it was not this one */
	atomic_store(&bell->rung, false);
	bell->answer(bell->context);
}

int bell_init(struct bell *bell, uv_loop_t *loop, void (*answer)(void *context), void *context)
{
	*bell = (struct bell){.answer = answer, .context = context};
	bell->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (bell->fd < 0)
		return -errno;
	int r = uv_poll_init(loop, &bell->poll, bell->fd);
	if (r < 0) {
		bell_deinit(bell);
		return r;
	}
	bell->poll.data = bell;
	return uv_poll_start(&bell->poll, UV_READABLE, bell_heard);
}

void bell_ring(void *context)
{
	struct bell *bell = context;
	if (atomic_exchange(&bell->rung, true))
		return;
	int r = eventfd_write(bell->fd, 1);
	assert(r == 0); /* the counter is never near its end */
	(void)r;
}

void bell_deinit(struct bell *bell)
{
	if (bell->fd >= 0)
		close(bell->fd);
	bell->fd = -1;
}
