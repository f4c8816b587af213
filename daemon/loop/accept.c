// SPDX-License-Identifier: MIT
#include "loop/accept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include "base/log.h"
#include "loop/policy/quota.h"
#include "loop/protocol/session.h"
#include "loop/state/core.h"

#define CONTROL_CONNECTIONS_MAX 64 /* beside max-connections, so that a full daemon can be seen */
#define FDS_OF_CONNECTION 2	   /* its socket, and its process to be watched */
#define FDS_RESERVED 20u /* standard streams, sockets, locks, libuv's own, datasets, rings */

/* Files that threads read must never lack a descriptor because of too many connections. */
static bool has_fds(const struct accept *accept)
{
	const struct config *config = accept->core->config;
	uint64_t connections = (uint64_t)accept->protocol->data_connections +
			       accept->protocol->control_connections + 1;
	return connections * FDS_OF_CONNECTION + config->workers + config->fetchers + FDS_RESERVED <
	       accept->fd_limit;
}

static void refuse(struct accept *accept, int fd, unsigned code, const char *text)
{
	core_count(accept->core, COUNTER_CONNECTIONS_REFUSED, 1);
	connection_refuse(fd, code, text);
}

static void on_refuse(struct listener *listener, int fd)
{
	struct accept *accept = listener->context;
	core_log_client(accept->core, "out of file descriptors: a connection was refused");
	refuse(accept, fd, ERROR_TOO_MANY_CONNECTIONS,
	       "the daemon is out of file descriptors (LimitNOFILE, ulimit -n)");
}

/* 0, or the number of the error, with words. */
static int check_limits(const struct accept *accept, bool data, uid_t uid, struct fault *fault)
{
	const struct core *core = accept->core;
	unsigned limit = data ? core->config->max_connections : CONTROL_CONNECTIONS_MAX;
	unsigned open =
		data ? accept->protocol->data_connections : accept->protocol->control_connections;
	if (open >= limit)
		return fault_say(fault, ERROR_TOO_MANY_CONNECTIONS,
				 "%u connections are open, the limit is %u (%s): close some, or "
				 "try again later",
				 limit, limit, data ? "max-connections" : "of stokerctl's");
	return data && quota_connection(core, uid, fault) ? ERROR_LIMIT : 0;
}

static void on_accept(struct listener *listener, int fd)
{
	struct accept *accept = listener->context;
	bool data = listener == &accept->data;
	struct ucred credentials;
	socklen_t size = sizeof(credentials);
	struct fault fault;
	if (data && !has_fds(accept)) {
		on_refuse(listener, fd);
		return;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0) {
		fault_say(&fault, 0, "cannot find out whose connection this is: %s",
			  strerror(errno));
		refuse(accept, fd, ERROR_INTERNAL, fault.text);
		return;
	}
	int refused = check_limits(accept, data, credentials.uid, &fault);
	if (refused)
		refuse(accept, fd, (unsigned)refused, fault.text);
	else
		session_new(accept->protocol, fd, &credentials,
			    data ? MESSAGE_ON_DATA : MESSAGE_ON_CONTROL);
}

static uint64_t fd_limit(void)
{
	struct rlimit files;
	return getrlimit(RLIMIT_NOFILE, &files) < 0 ? UINT64_MAX : files.rlim_cur;
}

void accept_init(struct accept *accept, struct core *core, struct protocol *protocol)
{
	*accept = (struct accept){.core = core,
				  .protocol = protocol,
				  .data = LISTENER_NULL,
				  .control = LISTENER_NULL};
	accept->data.on_accept = accept->control.on_accept = on_accept;
	accept->data.on_refuse = accept->control.on_refuse = on_refuse;
	accept->data.context = accept->control.context = accept;
	accept->fd_limit = fd_limit();
}

/* systemd passes the sockets by name; what it does not pass is bound here. */
int accept_open(struct accept *accept, struct fault *fault)
{
	const struct config *config = accept->core->config;
	char **names = NULL;
	int passed = sd_listen_fds_with_names(1, &names), r = 0;
	for (int i = 0; i < passed && r == 0; i++) {
		bool control = strcmp(names[i], "control") == 0;
		r = listener_adopt(control ? &accept->control : &accept->data,
				   SD_LISTEN_FDS_START + i, fault);
	}
	for (int i = 0; i < passed; i++)
		free(names[i]);
	free(names);
	if (r == 0 && accept->data.fd < 0)
		r = listener_bind(&accept->data, config->socket, config->socket_mode,
				  config->socket_gid, fault);
	if (r == 0 && accept->control.fd < 0)
		r = listener_bind(&accept->control, config->control_socket,
				  config->control_socket_mode, (gid_t)-1, fault);
	return r;
}

int accept_start(struct accept *accept)
{
	uv_loop_t *loop = accept->core->tasks.loop;
	int r = listener_start(&accept->data, loop);
	return r < 0 ? r : listener_start(&accept->control, loop);
}

void accept_tick(struct accept *accept)
{
	if (listener_look(&accept->data) < 0 || listener_look(&accept->control) < 0)
		log_warning("cannot accept connections: trying again in a second");
}

void accept_stop(struct accept *accept)
{
	listener_stop(&accept->data);
	listener_stop(&accept->control);
}
