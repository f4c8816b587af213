// SPDX-License-Identifier: MIT
#include "loop/os/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void signals_ready(uv_poll_t *poll, int status, int events)
{
	struct signals *signals = poll->data;
	struct signalfd_siginfo info;
	(void)status;
	(void)events;
	while (read(signals->fd, &info, sizeof(info)) == sizeof(info))
		signals->on_signal(signals, (int)info.ssi_signo);
}

int signals_open(struct signals *signals, uv_loop_t *loop,
		 void (*on_signal)(struct signals *signals, int number))
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	*signals = SIGNALS_NULL;
	signals->on_signal = on_signal;
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd < 0)
		return -errno;
	int r = uv_poll_init(loop, &signals->poll, signals->fd);
	if (r < 0) {
		signals_deinit(signals);
		return r;
	}
	signals->poll.data = signals;
	return uv_poll_start(&signals->poll, UV_READABLE, signals_ready);
}

void signals_stop(struct signals *signals)
{
	if (signals->fd >= 0)
		uv_poll_stop(&signals->poll);
}

void signals_deinit(struct signals *signals)
{
	if (signals->fd >= 0)
		close(signals->fd);
	signals->fd = -1;
}
