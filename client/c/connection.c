/* SPDX-License-Identifier: MIT */
#include "client/c/connection.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/c/clock.h"
#include "client/c/words.h"

#define OUT_MAX (1u << 20) /* bytes to be sent: a daemon that leaves so many unread hangs */
#define GIVE_MAX 34	   /* that the daemon takes with a message */
#define FDS_MAX 8	   /* descriptors that one recvmsg() can receive */
#define LOOK_MS 1000	   /* longest wait before changes by other threads are seen */

void connection_init(struct connection *connection)
{
	*connection = (struct connection){.socket = -1, .passed = -1};
}

void connection_deinit(struct connection *connection)
{
	connection_close(connection);
	decoder_memory_free(connection->memory);
	connection->memory = NULL;
}

void connection_close(struct connection *connection)
{
	if (connection->socket >= 0)
		close(connection->socket);
	if (connection->passed >= 0)
		close(connection->passed);
	connection->socket = connection->passed = -1;
	frame_reader_deinit(&connection->in);
	backlog_deinit(&connection->backlog);
	free(connection->out);
	connection->out = NULL;
	connection->out_size = connection->out_capacity = 0;
	connection->give_count = 0;
	connection->pulse = (struct pulse){0};
}

/* Close for the reason in `fault`, and keep it for later calls. */
static int connection_lose(struct connection *connection, int result, const struct fault *fault)
{
	connection_close(connection);
	connection->lost = result;
	connection->why = *fault;
	return result;
}

static int connection_check(const struct connection *connection, struct fault *fault)
{
	if (connection->socket >= 0)
		return 0;
	if (!connection->lost)
		return fault_say(fault, -ENOTCONN, "not connected to stokerd");
	*fault = connection->why;
	return connection->lost;
}

int connection_broken(struct connection *connection, struct fault *fault, const char *format, ...)
{
	char what[400];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	fault_say(fault, -EPROTO, "stokerd violated the protocol: %s", what);
	return connection_lose(connection, -EPROTO, fault);
}

/* Out of memory in the middle of a frame: the stream cannot be continued. */
static int connection_no_memory(struct connection *connection, struct fault *fault)
{
	fault_say(fault, -ENOMEM, "out of memory");
	return connection_lose(connection, -ENOMEM, fault);
}

static int connection_gone(struct connection *connection, int error, struct fault *fault)
{
	fault_say(fault, -ECONNRESET, "stokerd closed the connection%s%s", error ? ": " : "",
		  error ? strerror(error) : "");
	return connection_lose(connection, -ECONNRESET, fault);
}

/* -- sending ------------------------------------------------------------------------------ */

void connection_give(struct connection *connection, const int *fds, unsigned count)
{
	connection->give = fds;
	connection->give_count = count;
	connection->give_at = connection->out_size;
}

/* Send as send() does: up to the byte that descriptors go with, or from that byte on with them. */
static ssize_t connection_send_some(struct connection *connection)
{
	char control[CMSG_SPACE(GIVE_MAX * sizeof(int))]
		__attribute__((aligned(__alignof__(struct cmsghdr))));
	size_t size = connection->give_count * sizeof(int);
	struct iovec part = {connection->out, connection->out_size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	if (connection->give_count && connection->give_at) {
		part.iov_len = connection->give_at;
	} else if (connection->give_count) {
		header.msg_control = control;
		header.msg_controllen = CMSG_SPACE(size);
		struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(rights), connection->give, size);
	}
	ssize_t sent = sendmsg(connection->socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent > 0 && connection->give_count && !connection->give_at)
		connection->give_count = 0;
	else if (sent > 0 && connection->give_count)
		connection->give_at -= (size_t)sent;
	return sent;
}

/* Look for messages that explain a failed send(): the daemon may have said why. */
int connection_flush(struct connection *connection, struct fault *fault)
{
	int r = connection_check(connection, fault);
	while (r == 0 && connection->out_size) {
		ssize_t sent = connection_send_some(connection);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN)
			return 0;
		if (sent < 0)
			sent = (ssize_t)connection->out_size;
		connection->out_size -= (size_t)sent;
		memmove(connection->out, connection->out + sent, connection->out_size);
	}
	return r;
}

static int connection_queue(struct connection *connection, size_t size, struct fault *fault)
{
	size_t needed = connection->out_size + size;
	if (needed > OUT_MAX)
		return connection_broken(connection, fault,
					 "it does not read what the client sends");
	if (needed > connection->out_capacity) {
		size_t capacity = needed < 4096 ? 4096 : 2 * needed;
		uint8_t *out = realloc(connection->out, capacity);
		if (!out)
			return connection_no_memory(connection, fault);
		connection->out = out;
		connection->out_capacity = capacity;
	}
	memcpy(connection->out + connection->out_size, connection->frame, size);
	connection->out_size = needed;
	return 0;
}

int connection_send(struct connection *connection, const struct message *message,
		    struct fault *fault)
{
	int r = connection_check(connection, fault);
	if (r)
		return r;
	long size = message_encode(message, connection->frame, sizeof(connection->frame));
	if (size == -EMSGSIZE)
		return fault_say(fault, -EINVAL, "the request is too large for a message");
	if (size < 0)
		return fault_say(fault, (int)size, "out of memory");
	r = connection_queue(connection, (size_t)size, fault);
	return r ? r : connection_flush(connection, fault);
}

/* -- receiving ---------------------------------------------------------------------------- */

/* Keep one descriptor, close the others. Returns how many came. */
static int connection_keep_fds(struct connection *connection, struct msghdr *header)
{
	int came = 0;
	for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at; at = CMSG_NXTHDR(header, at)) {
		if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++, came++) {
			int fd;
			memcpy(&fd, CMSG_DATA(at) + i * sizeof(int), sizeof(int));
			if (connection->passed < 0)
				connection->passed = fd;
			else
				close(fd);
		}
	}
	return came;
}

/* Read what the socket has, up to the end of the current frame. 1: something came; 0: nothing. */
static int connection_read(struct connection *connection, struct fault *fault)
{
	char control[CMSG_SPACE(FDS_MAX * sizeof(int))]
		__attribute__((aligned(__alignof__(struct cmsghdr))));
	bool had = connection->passed >= 0;
	struct iovec room;
	uint8_t *at;
	int r = frame_reader_room(&connection->in, &at, &room.iov_len);
	if (r == -EPROTO)
		return connection_broken(connection, fault, "a frame with an invalid length");
	if (r)
		return connection_no_memory(connection, fault);
	room.iov_base = at;
	struct msghdr header = {.msg_iov = &room,
				.msg_iovlen = 1,
				.msg_control = control,
				.msg_controllen = sizeof(control)};
	ssize_t size;
	do
		size = recvmsg(connection->socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (size < 0 && errno == EINTR);
	if (size < 0 && errno == EAGAIN)
		return 0;
	if (size < 0)
		return connection_gone(connection, errno, fault);
	int came = connection_keep_fds(connection, &header);
	if (came + had > 1 || header.msg_flags & MSG_CTRUNC)
		return connection_broken(connection, fault, "unexpected descriptors");
	if (size == 0)
		return connection_gone(connection, 0, fault);
	frame_reader_received(&connection->in, (size_t)size);
	return 1;
}

static int connection_decode(struct connection *connection, const uint8_t *bytes, size_t size,
			     struct message *out, struct fault *fault)
{
	struct message_fault wrong;
	int r = message_decode(bytes, size, connection->memory, out, &wrong);
	if (r < 0)
		return connection_no_memory(connection, fault);
	if (r)
		return connection_broken(connection, fault, "%s", wrong.text);
	if (connection->passed >= 0 && out->kind != MESSAGE_ATTACHED && out->kind != MESSAGE_RING &&
	    out->kind != MESSAGE_PRODUCER)
		return connection_broken(connection, fault, "an unexpected descriptor");
	return 0;
}

/* Take the next complete message out of what was received: 1; there is none: 0. */
static int connection_next(struct connection *connection, struct message *out, struct fault *fault)
{
	if (frame_reader_next(&connection->in, &connection->last, &connection->last_size))
		return connection_broken(connection, fault, "a frame with an invalid length");
	if (!connection->last)
		return 0;
	int r = connection_decode(connection, connection->last, connection->last_size, out, fault);
	return r ? r : 1;
}

/* Take the answer to a PING of the pulse: no caller waits for it. */
static bool connection_is_pong(struct connection *connection, const struct message *message)
{
	struct pulse *pulse = &connection->pulse;
	if (!pulse->ping || message->kind != MESSAGE_OK || message->ok.seq != pulse->ping)
		return false;
	pulse->ping = 0;
	return true;
}

/* Ask a daemon that is silent for a sign of life, or say that none has come. */
static int connection_feel(struct connection *connection, struct fault *fault)
{
	struct message ping = message_init(MESSAGE_PING);
	enum pulse_step step = pulse_step(&connection->pulse, clock_ms());
	if (step == PULSE_SAY)
		pulse_say(connection->where);
	if (step != PULSE_ASK)
		return 0;
	ping.ping.seq = connection->pulse.ping = connection_seq(connection);
	return connection_send(connection, &ping, fault);
}

/* Wait until the socket can be read, or written if there is something to send. Not long at a time:
 * another thread may have closed it, or left something that is to be sent, and the daemon may have
 * been stopped. */
static void connection_wait(struct connection *connection, int64_t left)
{
	struct pollfd poll_ = {connection->socket, POLLIN, 0};
	if (connection->out_size)
		poll_.events |= POLLOUT;
	if (connection->lock)
		pthread_mutex_unlock(connection->lock);
	(void)poll(&poll_, 1, left < LOOK_MS ? (int)left : LOOK_MS);
	if (connection->lock)
		pthread_mutex_lock(connection->lock);
}

/* Receive as connection_receive() does, but from the socket only, not what was kept. */
static int connection_receive_new(struct connection *connection, int timeout_ms,
				  struct message *out, struct fault *fault)
{
	int64_t now = clock_ms(), until = now + timeout_ms;
	pulse_begin(&connection->pulse, now);
	for (;;) {
		int r = connection_flush(connection, fault);
		if (r == 0)
			r = connection_next(connection, out, fault);
		if (r > 0 && connection_is_pong(connection, out))
			continue;
		if (r)
			return r < 0 ? r : 0;
		r = connection_read(connection, fault);
		now = clock_ms();
		if (r > 0)
			pulse_begin(&connection->pulse, now);
		else if (r == 0 && timeout_ms >= 0 && now >= until)
			return -EAGAIN;
		else if (r == 0)
			r = connection_feel(connection, fault);
		if (r < 0)
			return r;
		if (r == 0)
			connection_wait(connection, timeout_ms < 0 ? LOOK_MS : until - now);
	}
}

int connection_receive(struct connection *connection, int timeout_ms, struct message *out,
		       struct fault *fault)
{
	const uint8_t *bytes;
	size_t size;
	int r = connection_flush(connection, fault);
	if (r)
		return r;
	if (backlog_take(&connection->backlog, &bytes, &size, &connection->passed))
		return connection_decode(connection, bytes, size, out, fault);
	return connection_receive_new(connection, timeout_ms, out, fault);
}

/* Keep the message that came last for later. */
static int connection_keep(struct connection *connection, struct fault *fault)
{
	int r = backlog_add(&connection->backlog, connection->last, connection->last_size,
			    connection_take_fd(connection));
	if (r < 0)
		return connection_no_memory(connection, fault);
	return r ? connection_broken(connection, fault, "it sends many messages, but no answer")
		 : 0;
}

static void connection_drop_fd(struct connection *connection)
{
	int fd = connection_take_fd(connection);
	if (fd >= 0)
		close(fd);
}

/* -- asking ------------------------------------------------------------------------------- */

bool connection_can(const struct message_welcome *welcome, const char *capability)
{
	const struct value *can = welcome->capabilities.value;
	for (uint32_t i = 0; value_kind(can) == VALUE_LIST && i < value_count(can); i++)
		if (text_equals(value_text(value_item(can, i)), capability))
			return true;
	return false;
}

uint32_t connection_seq(struct connection *connection)
{
	connection->seq += connection->seq == UINT32_MAX ? 2 : 1; /* 0 means no request */
	return connection->seq;
}

int connection_release(struct connection *connection, uint64_t lease, struct fault *fault)
{
	struct message release = message_init(MESSAGE_RELEASE);
	release.release.lease = lease;
	return connection_send(connection, &release, fault);
}

/* Keep or drop a message that comes before the answer. */
static int connection_pass(struct connection *connection, const struct message *message, bool keep,
			   struct fault *fault)
{
	if (keep)
		return connection_keep(connection, fault);
	if (message->kind == MESSAGE_RING)
		connection_drop_fd(connection);
	if (message->kind == MESSAGE_BATCH) /* nobody will take it */
		return connection_release(connection, message->batch.lease, fault);
	return 0;
}

static int connection_wait_answer(struct connection *connection, const struct message *request,
				  int quiet_ms, bool keep, struct message *out, struct fault *fault)
{
	for (;;) {
		int64_t left = connection->until ? connection->until - clock_ms() : quiet_ms;
		bool short_of_time = left < quiet_ms;
		int wait_ms = short_of_time ? (int)(left > 0 ? left : 0) : quiet_ms;
		int r = keep ? connection_receive_new(connection, wait_ms, out, fault)
			     : connection_receive(connection, wait_ms, out, fault);
		if (r == -EAGAIN) {
			if (short_of_time)
				fault_say(fault, -ETIMEDOUT, "stokerd at %s did not answer in time",
					  connection->where);
			else
				fault_say(fault, -ETIMEDOUT,
					  "stokerd at %s did not answer within %d s",
					  connection->where, quiet_ms / 1000);
			return connection_lose(connection, -ETIMEDOUT, fault);
		}
		if (r)
			return r;
		/* Before it closes a connection, the daemon sends an ERROR with seq 0. */
		if (out->kind == MESSAGE_ERROR &&
		    (out->error.seq == message_seq(request) || out->error.seq == 0))
			return words_of_error(fault, &out->error);
		if (out->kind != MESSAGE_PROGRESS && message_seq(out) == message_seq(request))
			return 0;
		r = connection_pass(connection, out, keep, fault);
		if (r)
			return r;
	}
}

static int connection_do_ask(struct connection *connection, const struct message *request,
			     enum message_kind wanted, int quiet_ms, bool keep, struct message *out,
			     struct fault *fault)
{
	int r = connection_send(connection, request, fault);
	if (r == 0)
		r = connection_wait_answer(connection, request, quiet_ms, keep, out, fault);
	if (r || out->kind == wanted)
		return r;
	return connection_broken(connection, fault, "%s as the answer to %s",
				 message_name(out->kind), message_name(request->kind));
}

int connection_ask(struct connection *connection, const struct message *request,
		   enum message_kind wanted, int quiet_ms, struct message *out, struct fault *fault)
{
	return connection_do_ask(connection, request, wanted, quiet_ms, false, out, fault);
}

int connection_ask_beside(struct connection *connection, const struct message *request,
			  enum message_kind wanted, int quiet_ms, struct message *out,
			  struct fault *fault)
{
	return connection_do_ask(connection, request, wanted, quiet_ms, true, out, fault);
}

int connection_open(struct connection *connection, int socket, const char *client, int quiet_ms,
		    struct message *welcome_out, struct fault *fault)
{
	struct message hello = message_init(MESSAGE_HELLO);
	connection_close(connection);
	connection->socket = socket;
	connection->lost = 0;
	if (!connection->memory && decoder_memory_new(&connection->memory) < 0)
		return connection_no_memory(connection, fault);
	hello.hello.seq = connection_seq(connection);
	hello.hello.version_min = hello.hello.version_max = PROTO_VERSION;
	hello.hello.client = (struct text){client, strlen(client)};
	int r = connection_ask(connection, &hello, MESSAGE_WELCOME, quiet_ms, welcome_out, fault);
	connection->pulse.greeted = r == 0;
	return r ? connection_lose(connection, r, fault) : 0;
}

int connection_take_fd(struct connection *connection)
{
	int fd = connection->passed;
	connection->passed = -1;
	return fd;
}
