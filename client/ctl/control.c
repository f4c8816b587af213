/* SPDX-License-Identifier: MIT */
#include "client/ctl/control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/c/address.h"
#include "client/c/clock.h"
#include "client/c/path.h"
#include "client/ctl/json.h"

#define EXIT_MS 10000 /* from the end of the connection to the end of the process */

int control_dataset(struct control *control, struct packer *packer, const char *path,
		    const char *kind, struct text *out)
{
	char whole[PATH_WHOLE_MAX];
	int r = path_whole(path, whole, &control->fault);
	if (r)
		return r;
	packer_clear(packer);
	size_t map = pack_map_begin(packer);
	pack_key_string(packer, "path", whole);
	if (kind)
		pack_key_string(packer, "kind", kind);
	sent_fds_close(&control->fds);
	if (control->connection.takes_fds)
		sent_fds_add_dataset(&control->fds, packer, whole, kind, NULL, NULL);
	connection_give(&control->connection, control->fds.fds, control->fds.count);
	pack_map_end(packer, map);
	return packer_bytes(packer, out) < 0 ? fault_say(&control->fault, -ENOMEM, "out of memory")
					     : 0;
}

static struct text text_of(const char *string)
{
	return (struct text){string, strlen(string)};
}

int control_open_at(struct control *control, enum address_socket which, const char *socket,
		    int quiet_ms)
{
	struct message welcome;
	struct address_search search = {.socket = which, .given = socket};
	memset(control, 0, sizeof(*control));
	connection_init(&control->connection);
	int fd = address_connect(&search, control->connection.where, &control->fault);
	if (fd < 0)
		return fd;
	int r = connection_open(&control->connection, fd, "stokerctl " STOKER_VERSION, quiet_ms,
				&welcome, &control->fault);
	if (r)
		return r;
	snprintf(control->daemon, sizeof(control->daemon), "%.*s", (int)welcome.welcome.daemon.size,
		 welcome.welcome.daemon.data);
	fault_make_plain(control->daemon);
	control->pid = welcome.welcome.pid;
	control->connection.takes_fds = sent_fds_is_wanted(fd, &welcome.welcome);
	control->connection.resizes = connection_can(&welcome.welcome, "pillow-13");
	return 0;
}

int control_open(struct control *control, const char *socket)
{
	return control_open_at(control, ADDRESS_CONTROL, socket, CONNECTION_QUIET_MS);
}

void control_close(struct control *control)
{
	connection_deinit(&control->connection);
	sent_fds_close(&control->fds);
}

static int control_ask(struct control *control, const struct message *request,
		       enum message_kind wanted, struct message *reply)
{
	return connection_ask(&control->connection, request, wanted, CONNECTION_QUIET_MS, reply,
			      &control->fault);
}

static int control_no_memory(struct control *control)
{
	return fault_say(&control->fault, -ENOMEM, "out of memory");
}

static int control_report(struct control *control, const struct message *request,
			  json_t **values_out)
{
	struct message reply;
	int r = control_ask(control, request, MESSAGE_REPORT, &reply);
	if (r)
		return r;
	if (value_kind(reply.report.values.value) != VALUE_MAP)
		return connection_broken(&control->connection, &control->fault,
					 "a REPORT whose values are not a map");
	*values_out = json_of(reply.report.values.value);
	return *values_out ? 0 : control_no_memory(control);
}

int control_status(struct control *control, json_t **values_out)
{
	struct message request = message_init(MESSAGE_STATUS);
	request.status.seq = connection_seq(&control->connection);
	return control_report(control, &request, values_out);
}

int control_reload(struct control *control, json_t **values_out)
{
	struct message request = message_init(MESSAGE_RELOAD);
	request.reload.seq = connection_seq(&control->connection);
	return control_report(control, &request, values_out);
}

/* One page, appended to `items`; `*after` is where the next one begins, 0 after the last. */
static int control_page(struct control *control, const char *what, json_t *items, uint64_t *after)
{
	struct message request = message_init(MESSAGE_LIST), reply;
	request.list.seq = connection_seq(&control->connection);
	request.list.what = text_of(what);
	request.list.after = *after;
	int r = control_ask(control, &request, MESSAGE_LISTING, &reply);
	if (r)
		return r;
	const struct value *list = reply.listing.items.value;
	if (value_kind(list) != VALUE_LIST || (reply.listing.next && reply.listing.next <= *after))
		return connection_broken(&control->connection, &control->fault,
					 "a LISTING without end, or whose items are not a list");
	for (uint32_t i = 0; i < value_count(list); i++)
		if (json_array_append_new(items, json_of(value_item(list, i))))
			return control_no_memory(control);
	*after = reply.listing.next;
	return 0;
}

int control_list(struct control *control, const char *what, json_t **items_out)
{
	json_t *items = json_array();
	uint64_t after = 0;
	int r;
	if (!items)
		return control_no_memory(control);
	do
		r = control_page(control, what, items, &after);
	while (r == 0 && after);
	if (r)
		json_decref(items);
	else
		*items_out = items;
	return r;
}

int control_set(struct control *control, const char *name, const char *value)
{
	struct message request = message_init(MESSAGE_SET), reply;
	request.set.seq = connection_seq(&control->connection);
	request.set.name = text_of(name);
	request.set.value = text_of(value);
	return control_ask(control, &request, MESSAGE_OK, &reply);
}

int control_drop(struct control *control, uint64_t dataset)
{
	struct message request = message_init(MESSAGE_DROP), reply;
	request.drop.seq = connection_seq(&control->connection);
	request.drop.id = dataset;
	return control_ask(control, &request, MESSAGE_OK, &reply);
}

int control_pin(struct control *control, uint64_t dataset, bool pinned)
{
	struct message request = message_init(MESSAGE_PIN), reply;
	request.pin.seq = connection_seq(&control->connection);
	request.pin.id = dataset;
	request.pin.pinned = pinned;
	return control_ask(control, &request, MESSAGE_OK, &reply);
}

int control_ping(struct control *control, double *seconds_out)
{
	struct message request = message_init(MESSAGE_PING), reply;
	request.ping.seq = connection_seq(&control->connection);
	int64_t begun = clock_ns();
	int r = control_ask(control, &request, MESSAGE_OK, &reply);
	*seconds_out = (double)(clock_ns() - begun) / 1e9;
	return r;
}

/* A descriptor of the daemon's process, to wait for its exit. -1 if that is not possible: it has
 * exited, is in another PID namespace, or systemd made the socket (then the kernel gives the PID of
 * systemd). */
static int control_pidfd(const struct control *control)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	if (getsockopt(control->connection.socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (uint64_t)peer.pid != control->pid)
		return -1;
	return (int)syscall(SYS_pidfd_open, peer.pid, 0);
}

/* The process exits a little after the connection. Until then it holds the lock and the name of its
 * socket, and a daemon that is started at once would fail. */
static void wait_for_exit(int pidfd)
{
	struct pollfd exit_ = {pidfd, POLLIN, 0};
	if (pidfd < 0)
		return;
	(void)poll(&exit_, 1, EXIT_MS);
	close(pidfd);
}

/* -ECONNRESET once it has ended. */
static int control_end(struct control *control, bool upgrade)
{
	struct message request = message_init(MESSAGE_STOP), reply;
	request.stop.seq = connection_seq(&control->connection);
	request.stop.upgrade = upgrade;
	int r = control_ask(control, &request, MESSAGE_OK, &reply);
	while (r == 0)
		r = connection_receive(&control->connection, -1, &reply, &control->fault);
	return r;
}

int control_upgrade(struct control *control)
{
	int r = control_end(control, true);
	return r == -ECONNRESET ? 0 : r;
}

int control_stop(struct control *control)
{
	int pidfd = control_pidfd(control);
	int r = control_end(control, false);
	if (r == -ECONNRESET) {
		wait_for_exit(pidfd);
		return 0;
	}
	if (pidfd >= 0)
		close(pidfd);
	return r;
}
