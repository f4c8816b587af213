// SPDX-License-Identifier: MIT
#include "loop/protocol/connection.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "loop/server.h"

#define PEER_BURST 32 /* reads from one peer in one turn of the loop: two a frame */

static void peer_free(struct peer *peer)
{
	assert(!peer->session.reader && !peer->session.attachment);
	frame_reader_deinit(&peer->in);
	for (unsigned i = 0; i < peer->n_out_fds; i++)
		close(peer->out_fds[i].fd);
	free(peer->out);
	free(peer);
}

/* libuv has let go of one handle; only then may its memory go. */
static void peer_handle_closed(uv_handle_t *handle)
{
	struct peer *peer = handle->data;
	if (--peer->handles == 0)
		peer_free(peer);
}

void peer_close(struct peer *peer)
{
	struct server *server = peer->server;
	if (peer->closing)
		return;
	peer->closing = true;
	session_end(&peer->session);
	list_remove(&peer->link);
	if (peer->socket == MESSAGE_ON_DATA)
		server->data_peers--;
	else
		server->control_peers--;
	server_count(server, COUNTER_CONNECTIONS, -1);
	uv_close((uv_handle_t *)&peer->poll, peer_handle_closed);
	if (peer->pidfd >= 0)
		uv_close((uv_handle_t *)&peer->death, peer_handle_closed);
	close(peer->fd);
	if (peer->pidfd >= 0)
		close(peer->pidfd);
	server_check_drained(server);
}

static void peer_event(uv_poll_t *poll, int status, int events);

static void peer_watch(struct peer *peer)
{
	size_t unsent = peer->out_size - peer->out_sent;
	int events = (unsent > PEER_OUT_PAUSE ? 0 : UV_READABLE) | (unsent ? UV_WRITABLE : 0);
	if (!peer->closing && uv_poll_start(&peer->poll, events, peer_event) < 0)
		peer->failed = true;
}

/* One write: the descriptor goes with its byte, so bytes before it are written on their own. */
static ssize_t peer_write(struct peer *peer)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec data = {peer->out + peer->out_sent, peer->out_size - peer->out_sent};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
	bool with_fd = peer->n_out_fds && peer->out_sent == peer->out_fds[0].at;
	unsigned next = with_fd ? 1 : 0; /* the descriptor that these bytes end before */
	if (next < peer->n_out_fds)
		data.iov_len = peer->out_fds[next].at - peer->out_sent;
	if (with_fd) {
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
		struct cmsghdr *message = CMSG_FIRSTHDR(&header);
		message->cmsg_level = SOL_SOCKET;
		message->cmsg_type = SCM_RIGHTS;
		message->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(message), &peer->out_fds[0].fd, sizeof(int));
	}
	ssize_t sent = sendmsg(peer->fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent > 0 && with_fd) {
		close(peer->out_fds[0].fd);
		memmove(peer->out_fds, peer->out_fds + 1,
			--peer->n_out_fds * sizeof(*peer->out_fds));
	}
	return sent;
}

/* A peer that cannot be written to shows the same to the next read: closing is left to that. */
static void peer_flush(struct peer *peer)
{
	while (peer->out_sent < peer->out_size) {
		ssize_t sent = peer_write(peer);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
			peer->failed = true;
		if (sent <= 0)
			break;
		peer->out_sent += (size_t)sent;
	}
	if (peer->out_sent == peer->out_size)
		peer->out_sent = peer->out_size = 0;
	peer_watch(peer);
}

/* Bytes that are written make room for new ones. */
static void peer_compact(struct peer *peer)
{
	memmove(peer->out, peer->out + peer->out_sent, peer->out_size - peer->out_sent);
	peer->out_size -= peer->out_sent;
	for (unsigned i = 0; i < peer->n_out_fds; i++)
		peer->out_fds[i].at -= peer->out_sent;
	peer->out_sent = 0;
}

/* Room for so many more bytes, within the limit. */
static bool peer_room(struct peer *peer, size_t size)
{
	if (peer->out_sent)
		peer_compact(peer);
	size_t need = peer->out_size + size;
	if (need <= peer->out_capacity)
		return true;
	if (need > PEER_OUT_MAX)
		return false;
	uint8_t *out = realloc(peer->out, need * 2);
	if (!out)
		return false;
	peer->out = out;
	peer->out_capacity = need * 2;
	return true;
}

static void peer_overrun(struct peer *peer)
{
	server_count(peer->server, COUNTER_OVERRUNS, 1);
	server_log_peer(peer->server, "pid %d does not read what it asked for: cut off",
			(int)peer->pid);
	peer->failed = true;
}

void peer_send_fd(struct peer *peer, const struct message *message, int fd)
{
	uint8_t *frame = peer->server->frame;
	if (peer->closing || peer->failed)
		return;
	long size = message_encode(message, frame, sizeof(peer->server->frame));
	if (size < 0) {
		log_error("cannot encode %s: %s", message_name(message->kind),
			  strerror((int)-size));
		peer->failed = true;
		return;
	}
	if (!peer_room(peer, (size_t)size) || (fd >= 0 && peer->n_out_fds == PEER_OUT_FDS)) {
		peer_overrun(peer);
		return;
	}
	if (fd >= 0) {
		int ours = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (ours < 0) {
			peer->failed = true;
			return;
		}
		peer->out_fds[peer->n_out_fds].fd = ours;
		peer->out_fds[peer->n_out_fds++].at = peer->out_size;
	}
	memcpy(peer->out + peer->out_size, frame, (size_t)size);
	peer->out_size += (size_t)size;
	peer_flush(peer);
}

void peer_send(struct peer *peer, const struct message *message)
{
	peer_send_fd(peer, message, -1);
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

void peer_send_error(struct peer *peer, unsigned code, uint64_t seq, const char *text)
{
	struct message message = error_message(code, seq, text);
	peer_send(peer, &message);
}

void peer_fail(struct peer *peer, unsigned code, uint32_t seq, const char *text)
{
	server_log_peer(peer->server, "pid %d cut off (%s): %s", (int)peer->pid, error_name(code),
			text);
	peer_send_error(peer, code, seq, text);
	peer_close(peer);
}

void peer_refuse(int fd, unsigned code, const char *text)
{
	uint8_t frame[1024];
	struct message message = error_message(code, 0, text);
	long size = message_encode(&message, frame, sizeof(frame));
	if (size > 0 && send(fd, frame, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL) != size)
		errno = 0; /* it is on its way out anyhow */
	close(fd);
}

static uint64_t peer_time_out(const struct peer *peer)
{
	return clock_ns() + (uint64_t)peer->server->config->request_timeout_ms * 1000000u;
}

/* Whole frames go to the session; then the clock runs for one that is begun, or for HELLO. */
static void peer_frames(struct peer *peer)
{
	const uint8_t *bytes;
	size_t size;
	int r;
	while ((r = frame_reader_next(&peer->in, &bytes, &size)) == 0 && bytes) {
		session_frame(&peer->session, bytes, size);
		if (peer->closing)
			return;
		peer->deadline_ns = session_greeted(&peer->session) ? 0 : peer->deadline_ns;
	}
	if (r == FRAME_E_LENGTH) {
		server_count(peer->server, COUNTER_PROTOCOL_ERRORS, 1);
		peer_fail(peer, ERROR_FRAME, 0,
			  "a frame is 1 to 65536 bytes: is this a stoker client?");
		return;
	}
	if (frame_reader_partial(&peer->in) && !peer->deadline_ns)
		peer->deadline_ns = peer_time_out(peer);
}

static void peer_read(struct peer *peer)
{
	for (int i = 0; i < PEER_BURST && !peer->closing; i++) {
		uint8_t *at;
		size_t room;
		if (peer->out_size - peer->out_sent > PEER_OUT_PAUSE)
			return; /* it shall read first */
		if (frame_reader_room(&peer->in, &at, &room) < 0) {
			peer_close(peer);
			return;
		}
		/* Descriptors that nobody asked for are dropped by the kernel: no room for them. */
		ssize_t got = recv(peer->fd, at, room, MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (got <= 0) {
			peer_close(peer);
			return;
		}
		frame_reader_received(&peer->in, (size_t)got);
		peer_frames(peer);
	}
}

static void peer_event(uv_poll_t *poll, int status, int events)
{
	struct peer *peer = poll->data;
	if (status < 0 || peer->failed) {
		peer_close(peer);
		return;
	}
	if (events & UV_WRITABLE)
		peer_flush(peer);
	if (events & UV_READABLE)
		peer_read(peer);
}

/* The process is gone, though a child of it may hold the socket open. */
static void peer_died(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	peer_close(poll->data);
}

static int peer_watch_process(struct peer *peer)
{
	if (peer->pid <= 0) /* of another PID namespace: EOF must do */
		return 0;
	peer->pidfd = (int)syscall(SYS_pidfd_open, peer->pid, 0);
	if (peer->pidfd < 0)
		return 0; /* an old kernel, or gone already: EOF will tell */
	int r = uv_poll_init(&peer->server->loop, &peer->death, peer->pidfd);
	if (r < 0) {
		close(peer->pidfd);
		peer->pidfd = -1;
		return r;
	}
	peer->death.data = peer;
	peer->handles++;
	return uv_poll_start(&peer->death, UV_READABLE, peer_died);
}

static int peer_init(struct peer *peer)
{
	struct ucred credentials = {0};
	socklen_t size = sizeof(credentials);
	if (getsockopt(peer->fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
		return -errno;
	peer->pid = credentials.pid;
	peer->uid = credentials.uid;
	session_init(&peer->session, peer);
	return uv_poll_init(&peer->server->loop, &peer->poll, peer->fd);
}

void peer_new(struct server *server, int fd, enum message_socket socket)
{
	struct peer *peer = calloc(1, sizeof(*peer));
	if (!peer) {
		peer_refuse(fd, ERROR_INTERNAL, "out of memory");
		return;
	}
	peer->id = server_new_id(server);
	peer->server = server;
	peer->socket = socket;
	peer->fd = fd;
	peer->pidfd = -1;
	peer->in = FRAME_READER_NULL;
	int r = peer_init(peer);
	if (r < 0) {
		log_error("cannot serve a connection: %s", uv_strerror(r));
		close(fd);
		peer_free(peer);
		return;
	}
	peer->poll.data = peer;
	peer->handles = 1;
	peer->deadline_ns = peer_time_out(peer);
	list_append(&server->peers, &peer->link);
	if (socket == MESSAGE_ON_DATA)
		server->data_peers++;
	else
		server->control_peers++;
	server_count(server, COUNTER_CONNECTIONS, 1);
	server_count(server, COUNTER_CONNECTIONS_TOTAL, 1);
	if (peer_watch_process(peer) < 0) {
		peer_close(peer);
		return;
	}
	peer_watch(peer);
}

void peer_check_deadline(struct peer *peer, uint64_t now_ns)
{
	if (peer->failed) { /* and too stuck for an event of its own */
		peer_close(peer);
		return;
	}
	if (!peer->deadline_ns || now_ns < peer->deadline_ns) {
		session_check_leases(&peer->session, now_ns);
		return;
	}
	server_count(peer->server, COUNTER_TIMEOUTS, 1);
	peer_fail(peer, ERROR_TIMEOUT, 0,
		  session_greeted(&peer->session) ? "the rest of a frame did not come in time"
						  : "HELLO did not come in time");
}
