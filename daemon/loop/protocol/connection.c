// SPDX-License-Identifier: MIT
#include "loop/protocol/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log_user.h"
#include "loop/state/core.h"
#include "loop/state/user.h"

#define CONNECTION_BURST 32 /* reads from one connection in one iteration: two a frame */

static void connection_deinit(struct connection *connection)
{
	frame_reader_deinit(&connection->in);
	descriptors_close(&connection->in_fds);
	for (unsigned i = 0; i < connection->n_out_fds; i++)
		close(connection->out_fds[i].fd);
	free(connection->out);
}

/* libuv has let go of one handle; with the last one the memory may go. */
static void connection_handle_closed(uv_handle_t *handle)
{
	struct connection *connection = handle->data;
	if (--connection->handles > 0)
		return;
	connection_deinit(connection);
	connection->events->on_free(connection);
}

void connection_close(struct connection *connection)
{
	if (connection->closing)
		return;
	connection->closing = true;
	connection->events->on_end(connection);
	core_count(connection->core, COUNTER_CONNECTIONS, -1);
	uv_close((uv_handle_t *)&connection->poll, connection_handle_closed);
	if (connection->pidfd >= 0)
		uv_close((uv_handle_t *)&connection->death, connection_handle_closed);
	passed_fds_end(&connection->passed, connection->fd);
	if (connection->pidfd >= 0)
		close(connection->pidfd);
}

static void connection_event(uv_poll_t *poll, int status, int events);

static void connection_watch(struct connection *connection)
{
	size_t unsent = connection->out_size - connection->out_sent;
	bool writes = unsent && !connection->grounded;
	int events = (unsent > CONNECTION_OUT_PAUSE ? 0 : UV_READABLE) | (writes ? UV_WRITABLE : 0);
	if (!connection->closing && uv_poll_start(&connection->poll, events, connection_event) < 0)
		connection->failed = true;
}

/* A descriptor is next, and may not leave before the client has read those that were sent. */
static bool connection_is_grounded(struct connection *connection)
{
	if (connection->n_out_fds == 0 || connection->out_sent != connection->out_fds[0].at)
		return false;
	if (passed_fds_may_send(&connection->passed, connection->fd))
		return false;
	if (!connection->grounded)
		log_user(connection->uid, LOG_CLIENTS, LOG_LEVEL_WARNING,
			 "pid %d of user %u does not read the descriptors that it was sent (%u of "
			 "this "
			 "user's are on their way): what it asks for waits until it does",
			 (int)connection->pid, (unsigned)connection->uid,
			 connection->passed.user->in_flight);
	return true;
}

/* One write: the descriptor goes with its byte, so bytes before it are written on their own. */
static ssize_t connection_write(struct connection *connection)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec data = {connection->out + connection->out_sent,
			     connection->out_size - connection->out_sent};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
	bool with_fd = connection->n_out_fds && connection->out_sent == connection->out_fds[0].at;
	unsigned next = with_fd ? 1 : 0; /* the descriptor that these bytes end before */
	if (next < connection->n_out_fds)
		data.iov_len = connection->out_fds[next].at - connection->out_sent;
	if (with_fd) {
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
		struct cmsghdr *message = CMSG_FIRSTHDR(&header);
		message->cmsg_level = SOL_SOCKET;
		message->cmsg_type = SCM_RIGHTS;
		message->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(message), &connection->out_fds[0].fd, sizeof(int));
	}
	ssize_t sent = sendmsg(connection->fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent > 0 && with_fd) {
		close(connection->out_fds[0].fd);
		passed_fds_send(&connection->passed);
		memmove(connection->out_fds, connection->out_fds + 1,
			--connection->n_out_fds * sizeof(*connection->out_fds));
	}
	return sent;
}

/* A connection that cannot be written to fails at the next read, too: closing is left to that. */
static void connection_flush(struct connection *connection)
{
	while (connection->out_sent < connection->out_size) {
		connection->grounded = connection_is_grounded(connection);
		if (connection->grounded)
			break;
		ssize_t sent = connection_write(connection);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
			connection->failed = true;
		if (sent <= 0)
			break;
		connection->out_sent += (size_t)sent;
	}
	if (connection->out_sent == connection->out_size)
		connection->out_sent = connection->out_size = 0;
	connection_watch(connection);
}

/* Bytes that are written make room for new ones. */
static void connection_compact(struct connection *connection)
{
	memmove(connection->out, connection->out + connection->out_sent,
		connection->out_size - connection->out_sent);
	connection->out_size -= connection->out_sent;
	for (unsigned i = 0; i < connection->n_out_fds; i++)
		connection->out_fds[i].at -= connection->out_sent;
	connection->out_sent = 0;
}

/* Room for so many more bytes, within the limit. */
static bool connection_room(struct connection *connection, size_t size)
{
	if (connection->out_sent)
		connection_compact(connection);
	size_t need = connection->out_size + size;
	if (need <= connection->out_capacity)
		return true;
	if (need > CONNECTION_OUT_MAX)
		return false;
	uint8_t *out = realloc(connection->out, need * 2);
	if (!out)
		return false;
	connection->out = out;
	connection->out_capacity = need * 2;
	return true;
}

static void connection_overrun(struct connection *connection)
{
	core_count(connection->core, COUNTER_OVERRUNS, 1);
	log_user(connection->uid, LOG_CLIENTS, LOG_LEVEL_WARNING,
		 "pid %d does not read what it asked for, and was cut off: it must connect again",
		 (int)connection->pid);
	connection->failed = true;
}

static void connection_send_fd(struct outbox *outbox, const struct message *message, int fd)
{
	struct connection *connection = list_entry(outbox, struct connection, outbox);
	uint8_t *frame = connection->scratch;
	if (connection->closing || connection->failed)
		return;
	long size = message_encode(message, frame, CONNECTION_SCRATCH);
	if (size < 0) {
		log_error("cannot encode %s: %s", message_name(message->kind),
			  strerror((int)-size));
		connection->failed = true;
		return;
	}
	if (!connection_room(connection, (size_t)size) ||
	    (fd >= 0 && connection->n_out_fds == CONNECTION_OUT_FDS)) {
		connection_overrun(connection);
		return;
	}
	if (fd >= 0) {
		int ours = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (ours < 0) {
			connection->failed = true;
			return;
		}
		connection->out_fds[connection->n_out_fds].fd = ours;
		connection->out_fds[connection->n_out_fds++].at = connection->out_size;
		passed_fds_queue(&connection->passed);
	}
	memcpy(connection->out + connection->out_size, frame, (size_t)size);
	connection->out_size += (size_t)size;
	connection_flush(connection);
}

static bool connection_is_read(const struct outbox *outbox)
{
	const struct connection *connection = list_entry(outbox, struct connection, outbox);
	return connection->out_size == 0 && passed_fds_all_read(connection->fd);
}

void connection_send(struct connection *connection, const struct message *message)
{
	connection_send_fd(&connection->outbox, message, -1);
}

static struct message error_message(unsigned code, uint64_t seq, const char *text)
{
	struct message message = message_init(MESSAGE_ERROR);
	message.error.seq = seq;
	message.error.code = code;
	message.error.name = (struct text){error_name(code), strlen(error_name(code))};
	message.error.text = (struct text){text, strlen(text)};
	return message;
}

void connection_send_error(struct connection *connection, unsigned code, uint64_t seq,
			   const char *text)
{
	struct message message = error_message(code, seq, text);
	connection_send(connection, &message);
}

void connection_fail(struct connection *connection, unsigned code, uint32_t seq, const char *text)
{
	log_user(connection->uid, LOG_CLIENTS, LOG_LEVEL_WARNING, "pid %d cut off (%s): %s",
		 (int)connection->pid, error_name(code), text);
	connection_send_error(connection, code, seq, text);
	connection_close(connection);
}

void connection_refuse(int fd, unsigned code, const char *text)
{
	uint8_t frame[1024];
	struct message message = error_message(code, 0, text);
	long size = message_encode(&message, frame, sizeof(frame));
	if (size > 0 && send(fd, frame, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL) != size)
		errno = 0; /* it is on its way out anyhow */
	close(fd);
}

static uint64_t connection_time_out(const struct connection *connection)
{
	return clock_ns() + (uint64_t)connection->core->config->request_timeout_ms * 1000000u;
}

/* Whole frames go to the session; then the deadline is that of a frame that has begun, or HELLO's.
 */
static void connection_frames(struct connection *connection)
{
	const uint8_t *bytes;
	size_t size;
	int r;
	while ((r = frame_reader_next(&connection->in, &bytes, &size)) == 0 && bytes) {
		connection->events->on_frame(connection, bytes, size);
		frame_reader_wipe(&connection->in); /* also of one that was refused */
		descriptors_close(&connection->in_fds);
		if (connection->closing)
			return;
		connection->deadline_ns = connection->greeted ? 0 : connection->deadline_ns;
	}
	if (r == FRAME_E_LENGTH) {
		core_count(connection->core, COUNTER_PROTOCOL_ERRORS, 1);
		connection_fail(connection, ERROR_FRAME, 0,
				"a frame is 1 to 65536 bytes: is this a stoker client?");
		return;
	}
	if (frame_reader_partial(&connection->in) && !connection->deadline_ns)
		connection->deadline_ns = connection_time_out(connection);
}

static void connection_read(struct connection *connection)
{
	for (int i = 0; i < CONNECTION_BURST && !connection->closing; i++) {
		uint8_t *at;
		size_t room;
		if (connection->out_size - connection->out_sent > CONNECTION_OUT_PAUSE)
			return; /* it shall read first */
		if (frame_reader_room(&connection->in, &at, &room) < 0) {
			connection_close(connection);
			return;
		}
		ssize_t got = descriptors_receive(&connection->in_fds, connection->fd, at, room);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (got <= 0) {
			connection_close(connection);
			return;
		}
		frame_reader_received(&connection->in, (size_t)got);
		connection_frames(connection);
	}
}

static void connection_event(uv_poll_t *poll, int status, int events)
{
	struct connection *connection = poll->data;
	if (status < 0 || connection->failed) {
		connection_close(connection);
		return;
	}
	if ((events & UV_WRITABLE) || connection->grounded)
		connection_flush(connection);
	if (events & UV_READABLE)
		connection_read(connection);
}

/* The process is gone, though a child of it may hold the socket open. */
static void connection_died(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	connection_close(poll->data);
}

static int connection_watch_process(struct connection *connection)
{
	if (connection->pid <= 0) /* of another PID namespace: EOF must do */
		return 0;
	connection->pidfd = (int)syscall(SYS_pidfd_open, connection->pid, 0);
	if (connection->pidfd < 0)
		return 0; /* an old kernel, or gone already: EOF will tell */
	int r = uv_poll_init(connection->core->tasks.loop, &connection->death, connection->pidfd);
	if (r < 0) {
		close(connection->pidfd);
		connection->pidfd = -1;
		return r;
	}
	connection->death.data = connection;
	connection->handles++;
	return uv_poll_start(&connection->death, UV_READABLE, connection_died);
}

int connection_open(struct connection *connection, struct core *core, int fd, pid_t pid, uid_t uid,
		    struct user *user, const struct connection_events *events, uint8_t *scratch)
{
	*connection = (struct connection){
		.outbox = {.send = connection_send_fd, .is_read = connection_is_read},
		.core = core,
		.events = events,
		.scratch = scratch,
		.pid = pid,
		.uid = uid,
		.fd = fd,
		.pidfd = -1,
		.passed = {.core = core, .user = user},
		.in = FRAME_READER_NULL};
	int r = uv_poll_init(core->tasks.loop, &connection->poll, fd);
	if (r < 0) {
		close(fd);
		return r;
	}
	connection->poll.data = connection;
	connection->handles = 1;
	connection->deadline_ns = connection_time_out(connection);
	core_count(core, COUNTER_CONNECTIONS, 1);
	core_count(core, COUNTER_CONNECTIONS_TOTAL, 1);
	if (connection_watch_process(connection) < 0)
		connection->failed = true; /* closed by the next tick */
	else
		connection_watch(connection);
	return 0;
}

void connection_tick(struct connection *connection, uint64_t now_ns)
{
	if (connection->failed) { /* and no event of its own comes */
		connection_close(connection);
		return;
	}
	if (connection->grounded)
		connection_flush(connection);
	if (!connection->deadline_ns || now_ns < connection->deadline_ns)
		return;
	core_count(connection->core, COUNTER_TIMEOUTS, 1);
	connection_fail(connection, ERROR_TIMEOUT, 0,
			connection->greeted ? "the rest of a frame did not come in time"
					    : "HELLO did not come in time");
}
