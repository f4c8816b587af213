// SPDX-License-Identifier: MIT
#include "loop/accept.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/credentials.h"
#include "base/log_user.h"
#include "loop/os/peer.h"
#include "loop/os/successor.h"
#include "loop/policy/quota.h"
#include "loop/protocol/session.h"
#include "loop/state/core.h"
#include "loop/watch/http_server.h"

#define CONTROL_CONNECTIONS_MAX 64 /* beside max-connections, so that a full daemon can be seen */

/* Files that threads read must never lack a descriptor because of too many connections. */
static bool has_fds(const struct accept *accept)
{
	const struct core *core = accept->core;
	uint64_t connections = (uint64_t)accept->protocol->data_connections +
			       accept->protocol->control_connections + 1;
	return 2 * connections + core->counters[COUNTER_RINGS] < quota_all_descriptors(core);
}

static void refuse(struct accept *accept, int fd, unsigned code, const char *text)
{
	core_count(accept->core, COUNTER_CONNECTIONS_REFUSED, 1);
	connection_refuse(fd, code, text);
}

static void on_refuse(struct listener *listener, int fd)
{
	struct accept *accept = listener->context;
	struct credentials credentials = CREDENTIALS_NULL;
	(void)peer_credentials(&credentials, fd);
	log_user(credentials.uid, LOG_CLIENTS, LOG_LEVEL_WARNING,
		 "out of file descriptors: a connection of user %u was refused: raise the limit of "
		 "open files (LimitNOFILE)",
		 (unsigned)credentials.uid);
	credentials_deinit(&credentials);
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
	struct credentials credentials = CREDENTIALS_NULL;
	struct fault fault;
	if (data && !has_fds(accept)) {
		on_refuse(listener, fd);
		return;
	}
	int r = peer_credentials(&credentials, fd);
	if (r < 0) {
		fault_say(&fault, 0, "cannot find out whose connection this is: %s", strerror(-r));
		refuse(accept, fd, ERROR_INTERNAL, fault.text);
		return;
	}
	int refused = check_limits(accept, data, credentials.uid, &fault);
	if (refused)
		refuse(accept, fd, (unsigned)refused, fault.text);
	else
		session_new(accept->protocol, fd, &credentials,
			    data ? MESSAGE_ON_DATA : MESSAGE_ON_CONTROL);
	credentials_deinit(&credentials);
}

static uint64_t fd_limit(void)
{
	struct rlimit files;
	return getrlimit(RLIMIT_NOFILE, &files) < 0 ? UINT64_MAX : files.rlim_cur;
}

/* Accept a watcher. It needs no words when there are no descriptors left: it asks again. */
static void on_watcher(struct listener *listener, int fd)
{
	struct accept *accept = listener->context;
	if (has_fds(accept))
		http_server_accept(accept->http, fd, listener == &accept->port);
	else
		close(fd);
}

static void on_refuse_watcher(struct listener *listener, int fd)
{
	(void)listener;
	close(fd);
}

void accept_init(struct accept *accept, struct core *core, struct protocol *protocol,
		 struct http_server *http)
{
	*accept = (struct accept){.core = core,
				  .protocol = protocol,
				  .http = http,
				  .data = LISTENER_NULL,
				  .control = LISTENER_NULL,
				  .metrics = LISTENER_NULL,
				  .port = LISTENER_NULL};
	accept->data.on_accept = accept->control.on_accept = on_accept;
	accept->data.on_refuse = accept->control.on_refuse = on_refuse;
	accept->metrics.on_accept = accept->port.on_accept = on_watcher;
	accept->metrics.on_refuse = accept->port.on_refuse = on_refuse_watcher;
	accept->data.context = accept->control.context = accept->metrics.context =
		accept->port.context = accept;
	core->fd_limit = fd_limit();
}

static int adopt(struct accept *accept, const char *name, int fd, struct fault *fault)
{
	if (strcmp(name, "control") == 0)
		return listener_adopt(&accept->control, fd, fault);
	if (strcmp(name, "metrics") == 0)
		return listener_is_unix(fd) ? listener_adopt(&accept->metrics, fd, fault)
					    : listener_adopt_port(&accept->port, fd, fault);
	return listener_adopt(&accept->data, fd, fault);
}

/* From the program before this one, or again. */
static int serve(struct listener *listener, const char *name, const char *path, mode_t mode,
		 gid_t group, struct fault *fault)
{
	int fd, lock_fd;
	if (successor_take(name, &fd, &lock_fd) &&
	    listener_inherit(listener, fd, lock_fd, path, mode, group))
		return 0;
	return listener_bind(listener, path, mode, group, fault);
}

/* systemd passes the sockets by name; what it does not pass is bound here. */
int accept_open(struct accept *accept, struct fault *fault)
{
	const struct config *config = accept->core->config;
	char **names = NULL;
	int passed = sd_listen_fds_with_names(1, &names), r = 0;
	for (int i = 0; i < passed && r == 0; i++)
		r = adopt(accept, names[i], SD_LISTEN_FDS_START + i, fault);
	for (int i = 0; i < passed; i++)
		free(names[i]);
	free(names);
	if (r == 0 && accept->data.fd < 0)
		r = serve(&accept->data, "data", config->socket, config->socket_mode,
			  config->socket_gid, fault);
	if (r == 0 && accept->control.fd < 0)
		r = serve(&accept->control, "control", config->control_socket,
			  config->control_socket_mode, (gid_t)-1, fault);
	if (r == 0 && config->metrics_socket && accept->metrics.fd < 0)
		r = serve(&accept->metrics, "metrics", config->metrics_socket, config->socket_mode,
			  config->socket_gid, fault);
	successor_took_all();
	if (r == 0 && config->metrics_port && accept->port.fd < 0)
		r = listener_bind_port(&accept->port, config->metrics_address, config->metrics_port,
				       fault);
	return r;
}

static int start(struct listener *listener, uv_loop_t *loop)
{
	return listener->fd < 0 ? 0 : listener_start(listener, loop);
}

int accept_start(struct accept *accept)
{
	uv_loop_t *loop = accept->core->tasks.loop;
	int r = listener_start(&accept->data, loop);
	r = r < 0 ? r : listener_start(&accept->control, loop);
	r = r < 0 ? r : start(&accept->metrics, loop);
	return r < 0 ? r : start(&accept->port, loop);
}

void accept_tick(struct accept *accept)
{
	int r = listener_look(&accept->data);
	r = r < 0 ? r : listener_look(&accept->control);
	r = r < 0 ? r : listener_look(&accept->metrics);
	r = r < 0 ? r : listener_look(&accept->port);
	if (r < 0)
		log_warning("cannot accept connections: trying again in a second");
}

int accept_give(struct accept *accept, struct successor *successor, struct fault *fault)
{
	if (!accept->data.bound || !accept->control.bound)
		return fault_say(fault, 1,
				 "the sockets of this daemon are systemd's: restart its unit");
	listener_pause(&accept->data);
	listener_pause(&accept->control);
	successor_give(successor, "data", accept->data.fd, accept->data.lock_fd);
	successor_give(successor, "control", accept->control.fd, accept->control.lock_fd);
	if (accept->metrics.bound) {
		listener_pause(&accept->metrics);
		successor_give(successor, "metrics", accept->metrics.fd, accept->metrics.lock_fd);
	} else {
		listener_stop(&accept->metrics);
	}
	listener_stop(&accept->port);
	return 0;
}

void accept_stop(struct accept *accept)
{
	listener_stop(&accept->data);
	listener_stop(&accept->control);
	listener_stop(&accept->metrics);
	listener_stop(&accept->port);
}
