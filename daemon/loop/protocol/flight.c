// SPDX-License-Identifier: MIT
#include "loop/protocol/flight.h"

#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "loop/policy/quota.h"
#include "loop/state/core.h"
#include "loop/state/user.h"

/* A socket without a connection. */
struct lingering {
	struct list link; /* in core->lingering */
	struct flight flight;
	int fd;
};

static void flight_count(struct flight *flight, int by)
{
	flight->user->in_flight += (unsigned)by;
	core_count(flight->core, COUNTER_DESCRIPTORS_IN_FLIGHT, by);
}

bool flight_all_read(int fd)
{
	int unread;
	return ioctl(fd, SIOCOUTQ, &unread) < 0 || unread == 0;
}

static void flight_look(struct flight *flight, int fd)
{
	if (flight->sent == 0 || !flight_all_read(fd))
		return;
	flight_count(flight, -(int)flight->sent);
	flight->sent = 0;
}

void flight_queue(struct flight *flight)
{
	flight->queued++;
	flight_count(flight, 1);
}

bool flight_may_send(struct flight *flight, int fd)
{
	flight_look(flight, fd);
	return flight->sent < FLIGHT_MAX && quota_flight(flight->core, flight->user);
}

void flight_send(struct flight *flight)
{
	flight->queued--;
	flight->sent++;
}

static void lingering_end(struct lingering *lingering)
{
	flight_count(&lingering->flight, -(int)lingering->flight.sent);
	close(lingering->fd);
	list_remove(&lingering->link);
	user_put(lingering->flight.user);
	free(lingering);
}

void flight_end(struct flight *flight, int fd)
{
	if (!flight->user) {
		close(fd);
		return;
	}
	flight_count(flight, -(int)flight->queued);
	flight->queued = 0;
	flight_look(flight, fd);
	struct lingering *lingering = flight->sent ? calloc(1, sizeof(*lingering)) : NULL;
	if (!lingering) {
		flight_count(flight, -(int)flight->sent);
		close(fd);
		return;
	}
	shutdown(fd, SHUT_RDWR);
	*lingering = (struct lingering){.flight = *flight, .fd = fd};
	list_append(&flight->core->lingering, &lingering->link);
	flight->user->held++;
	flight->sent = 0;
}

void flights_look(struct core *core, bool all)
{
	list_for_each(lingering, next, &core->lingering, struct lingering, link)
		if (all || flight_all_read(lingering->fd))
			lingering_end(lingering);
}
