// SPDX-License-Identifier: MIT
#include "loop/accept.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>

#include "loop/os/listener.h"
#include "loop/policy/quota.h"
#include "loop/protocol/connection.h"

#define CONTROL_CONNECTIONS_MAX 64 /* beside max-connections, so that a full daemon can be seen */
#define FDS_OF_PEER 2		   /* its socket, and its process to be watched */
#define FDS_RESERVED 20u /* standard streams, sockets, locks, libuv's own, datasets, rings */

/* Files that threads read must never lack a descriptor because too many peers have one. */
static bool doors_have_fds(const struct server *server)
{
	const struct config *config = server->config;
	uint64_t peers = (uint64_t)server->data_peers + server->control_peers + 1;
	return peers * FDS_OF_PEER + config->workers + config->fetchers + FDS_RESERVED <
	       server->fd_limit;
}

static void doors_refuse(struct listener *listener, int fd)
{
	struct server *server = listener->context;
	server_count(server, COUNTER_CONNECTIONS_REFUSED, 1);
	server_log_peer(server, "out of file descriptors: a connection was refused");
	peer_refuse(fd, ERROR_TOO_MANY_CONNECTIONS,
		    "the daemon is out of file descriptors (LimitNOFILE, ulimit -n)");
}

static void doors_accept(struct listener *listener, int fd)
{
	struct server *server = listener->context;
	bool data = listener == &server->data;
	unsigned limit = data ? server->config->max_connections : CONTROL_CONNECTIONS_MAX;
	if (data && !doors_have_fds(server)) {
		doors_refuse(listener, fd);
		return;
	}
	struct fault fault;
	int refused = 0;
	if ((data ? server->data_peers : server->control_peers) >= limit)
		refused = fault_say(&fault, ERROR_TOO_MANY_CONNECTIONS,
				    "%u connections are open, the limit is %u (%s): end some, or "
				    "try again later",
				    limit, limit, data ? "max-connections" : "of stokerctl's");
	else if (data && quota_connection(server, fd, &fault))
		refused = ERROR_LIMIT;
	if (!refused) {
		peer_new(server, fd, data ? MESSAGE_ON_DATA : MESSAGE_ON_CONTROL);
		return;
	}
	server_count(server, COUNTER_CONNECTIONS_REFUSED, 1);
	peer_refuse(fd, (unsigned)refused, fault.text);
}

static uint64_t fd_limit(void)
{
	struct rlimit files;
	return getrlimit(RLIMIT_NOFILE, &files) < 0 ? UINT64_MAX : files.rlim_cur;
}

void doors_init(struct server *server)
{
	server->data = server->control = LISTENER_NULL;
	server->data.on_accept = server->control.on_accept = doors_accept;
	server->data.on_refuse = server->control.on_refuse = doors_refuse;
	server->data.context = server->control.context = server;
	server->fd_limit = fd_limit();
}

/* systemd passes the sockets by name; what it does not pass is bound here. */
int doors_open(struct server *server, struct fault *fault)
{
	const struct config *config = server->config;
	char **names = NULL;
	int passed = sd_listen_fds_with_names(1, &names), r = 0;
	for (int i = 0; i < passed && r == 0; i++) {
		bool control = strcmp(names[i], "control") == 0;
		r = listener_adopt(control ? &server->control : &server->data,
				   SD_LISTEN_FDS_START + i, fault);
	}
	for (int i = 0; i < passed; i++)
		free(names[i]);
	free(names);
	if (r == 0 && server->data.fd < 0)
		r = listener_bind(&server->data, config->socket, config->socket_mode,
				  config->socket_gid, fault);
	if (r == 0 && server->control.fd < 0)
		r = listener_bind(&server->control, config->control_socket,
				  config->control_socket_mode, (gid_t)-1, fault);
	return r;
}

int doors_start(struct server *server)
{
	int r = listener_start(&server->data, &server->loop);
	return r < 0 ? r : listener_start(&server->control, &server->loop);
}
