// SPDX-License-Identifier: MIT
#include "loop/protocol/passed_fds.h"

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
	struct passed_fds passed;
	int fd;
};

static void passed_fds_count(struct passed_fds *passed, int by)
{
	passed->user->in_flight += (unsigned)by;
	core_count(passed->core, COUNTER_DESCRIPTORS_IN_FLIGHT, by);
}

bool passed_fds_all_read(int fd)
{
	int unread;
	return ioctl(fd, SIOCOUTQ, &unread) < 0 || unread == 0;
}

static void passed_fds_look(struct passed_fds *passed, int fd)
{
	if (passed->sent == 0 || !passed_fds_all_read(fd))
		return;
	passed_fds_count(passed, -(int)passed->sent);
	passed->sent = 0;
}

void passed_fds_queue(struct passed_fds *passed)
{
	passed->queued++;
	passed_fds_count(passed, 1);
}

bool passed_fds_may_send(struct passed_fds *passed, int fd)
{
	passed_fds_look(passed, fd);
	return passed->sent < PASSED_FDS_MAX && quota_passed_fds(passed->core, passed->user);
}

void passed_fds_send(struct passed_fds *passed)
{
	passed->queued--;
	passed->sent++;
}

static void lingering_end(struct lingering *lingering)
{
	passed_fds_count(&lingering->passed, -(int)lingering->passed.sent);
	close(lingering->fd);
	list_remove(&lingering->link);
	user_put(lingering->passed.user);
	free(lingering);
}

void passed_fds_end(struct passed_fds *passed, int fd)
{
	if (!passed->user) {
		close(fd);
		return;
	}
	passed_fds_count(passed, -(int)passed->queued);
	passed->queued = 0;
	passed_fds_look(passed, fd);
	struct lingering *lingering = passed->sent ? calloc(1, sizeof(*lingering)) : NULL;
	if (!lingering) {
		passed_fds_count(passed, -(int)passed->sent);
		close(fd);
		return;
	}
	shutdown(fd, SHUT_RDWR);
	*lingering = (struct lingering){.passed = *passed, .fd = fd};
	list_append(&passed->core->lingering, &lingering->link);
	passed->user->held++;
	passed->sent = 0;
}

void passed_fds_look_all(struct core *core, bool all)
{
	list_for_each(lingering, next, &core->lingering, struct lingering, link)
		if (all || passed_fds_all_read(lingering->fd))
			lingering_end(lingering);
}
