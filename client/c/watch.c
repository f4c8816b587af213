/* SPDX-License-Identifier: MIT */
#include "client/c/watch.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

void watch_deinit(struct watch *watch)
{
	if (watch->timer >= 0)
		close(watch->timer);
	if (watch->epoll >= 0)
		close(watch->epoll);
	*watch = WATCH_NULL;
}

int watch_open(struct watch *watch)
{
	if (watch->epoll < 0)
		watch->epoll = epoll_create1(EPOLL_CLOEXEC);
	return watch->epoll < 0 ? -errno : watch->epoll;
}

void watch_forget(struct watch *watch)
{
	watch->events = 0;
}

static int watch_socket(struct watch *watch, int socket, bool sends)
{
	struct epoll_event event = {.events = EPOLLIN};
	if (sends)
		event.events |= EPOLLOUT;
	if (event.events == watch->events)
		return 0;
	int how = watch->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	if (epoll_ctl(watch->epoll, how, socket, &event))
		return -errno;
	watch->events = event.events;
	return 0;
}

static int watch_make_timer(struct watch *watch)
{
	struct epoll_event event = {.events = EPOLLIN};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (timer < 0)
		return -errno;
	if (epoll_ctl(watch->epoll, EPOLL_CTL_ADD, timer, &event)) {
		int r = -errno;
		close(timer);
		return r;
	}
	watch->timer = timer;
	return 0;
}

static int watch_time(struct watch *watch, int64_t at)
{
	struct itimerspec when = {.it_value = {at / 1000, at % 1000 * 1000000}};
	if (watch->timer < 0 && at) {
		int r = watch_make_timer(watch);
		if (r)
			return r;
	}
	if (watch->timer < 0)
		return 0;
	return timerfd_settime(watch->timer, TFD_TIMER_ABSTIME, &when, NULL) ? -errno : 0;
}

int watch_update(struct watch *watch, int socket, bool sends, int64_t at)
{
	if (socket < 0)
		watch_forget(watch);
	if (watch->epoll < 0)
		return 0;
	int r = watch_time(watch, at);
	return r || socket < 0 ? r : watch_socket(watch, socket, sends);
}
