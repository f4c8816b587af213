/* SPDX-License-Identifier: MIT */
#include "client/c/handle.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "client/c/address.h"
#include "client/c/clock.h"
#include "client/c/sent_fds.h"

#define ATTACH_QUIET_MS 60000 /* the daemon says PROGRESS more often than this */

/* In a child process the lock may be that of a thread which is not there. */
int handle_lock(struct stoker *stoker)
{
	if (!stoker)
		return -EINVAL;
	if (stoker->pid != getpid())
		return -EPERM;
	pthread_mutex_lock(&stoker->lock);
	return 0;
}

static int handle_watch(struct stoker *stoker)
{
	const struct connection *connection = &stoker->connection;
	const struct resume *resume = &stoker->resume;
	int64_t at = connection_kept(connection); /* 0: never, 1: at once */
	if (resume->lost)
		at = resume->next ? resume->next : 1;
	return watch_update(&stoker->watch, connection->socket, connection_pending(connection), at);
}

void handle_unlock(struct stoker *stoker)
{
	(void)handle_watch(stoker); /* else the next call reports it */
	pthread_mutex_unlock(&stoker->lock);
}

int handle_enter(struct stoker *stoker)
{
	int r = handle_lock(stoker);
	if (r == -EPERM)
		return fault_say(&stoker->fault, r,
				 "this handle was made before fork() and belongs to the parent "
				 "process: make a new one in this process");
	if (r)
		return r;
	if (stoker->inside) {
		pthread_mutex_unlock(&stoker->lock);
		return -EALREADY;
	}
	stoker->inside = true;
	stoker->caller = pthread_self();
	stoker->fault = FAULT_NULL;
	return 0;
}

int handle_leave(struct stoker *stoker, int result)
{
	int r = handle_watch(stoker);
	if (r && result >= 0)
		result = fault_say(&stoker->fault, r, "cannot watch the connection: %s",
				   strerror(-r));
	stoker->inside = false;
	pthread_mutex_unlock(&stoker->lock);
	return result;
}

int handle_enter_attached(struct stoker *stoker)
{
	int r = handle_enter(stoker);
	if (r || stoker->ring)
		return r;
	return handle_leave(stoker,
			    fault_say(&stoker->fault, -ENOTCONN, "not attached to a dataset"));
}

void handle_forget_ring(struct stoker *stoker)
{
	ring_drop(stoker->ring);
	stoker->ring = NULL;
	resume_deinit(&stoker->resume);
	classes_deinit(&stoker->classes);
	classes_deinit(&stoker->paths);
	stoker->attachment++; /* batches that are held belong to an earlier one now */
}

/* Connect to the first daemon that answers: one that is silent is passed over. */
static int handle_greet(struct stoker *stoker, struct message *welcome_out)
{
	struct address_search search = {.socket = ADDRESS_DATA, .given = stoker->socket};
	for (;;) {
		pthread_mutex_unlock(&stoker->lock);
		int fd = address_connect(&search, stoker->connection.where, &stoker->fault);
		pthread_mutex_lock(&stoker->lock);
		if (fd < 0)
			return fd;
		int r = connection_open(&stoker->connection, fd, "libstoker " STOKER_VERSION,
					CONNECTION_GREETING_MS, welcome_out, &stoker->fault);
		if (r != -ETIMEDOUT)
			return r;
		address_pass_over(&search, r, &stoker->fault);
	}
}

int handle_open(struct stoker *stoker)
{
	struct message welcome;
	connection_close(&stoker->connection);
	stoker->connected++;
	stoker->last_lease = 0;
	watch_forget(&stoker->watch);
	int r = handle_greet(stoker, &welcome);
	if (r == 0) {
		stoker->connection.takes_fds =
			sent_fds_is_wanted(stoker->connection.socket, &welcome.welcome);
		stoker->connection.takes_credentials =
			connection_can(&welcome.welcome, "credentials");
		stoker->connection.resizes = connection_can(&welcome.welcome, "pillow-13");
		stoker->connection.takes_like = connection_can(&welcome.welcome, "like");
	}
	return r ? r : user_keys_send_all(stoker->user_keys, &stoker->connection, &stoker->fault);
}

void handle_forget_stall(struct stoker *stoker)
{
	stoker->stalled.text[0] = '\0';
	stoker->blocking = 0;
}

int handle_take_ring(struct stoker *stoker, struct text transport, uint64_t bytes, uint64_t number)
{
	struct ring *ring;
	int fd = connection_take_fd(&stoker->connection);
	if (!text_equals(transport, "fd") || fd < 0) {
		if (fd >= 0)
			close(fd);
		return connection_broken(&stoker->connection, &stoker->fault,
					 "no descriptor came with the ring");
	}
	int r = ring_map(&ring, fd, bytes, number, &stoker->fault);
	close(fd);
	if (r == -EPROTO) {
		struct fault why = stoker->fault;
		return connection_broken(&stoker->connection, &stoker->fault, "%s", why.text);
	}
	if (r) {
		connection_close(&stoker->connection);
		return r;
	}
	if (stoker->ring && !ring_like(ring, stoker->ring)) {
		ring_drop(ring);
		return connection_broken(&stoker->connection, &stoker->fault,
					 "a ring of other samples");
	}
	ring_drop(stoker->ring);
	stoker->ring = ring;
	handle_forget_stall(stoker);
	return 0;
}

int handle_ask_attach(struct stoker *stoker, struct message *request, struct message *reply_out)
{
	request->attach.seq = connection_seq(&stoker->connection);
	connection_give(&stoker->connection, stoker->fds.fds, stoker->fds.count);
	int r = connection_ask(&stoker->connection, request, MESSAGE_ATTACHED, ATTACH_QUIET_MS,
			       reply_out, &stoker->fault);
	return r ? r
		 : handle_take_ring(stoker, reply_out->attached.transport,
				    reply_out->attached.bytes, reply_out->attached.ring);
}

static int handle_ask_for_token(struct stoker *stoker, struct attach *attach,
				struct message *reply_out)
{
	struct message_attach *message = &attach->message.attach;
	int r = handle_ask_attach(stoker, &attach->message, reply_out);
	if (r != -ESTALE || !attach->token.map || !message->expect_description.size ||
	    value_kind(reply_out->error.description.value) != VALUE_MAP)
		return r;
	r = token_compare(&attach->token, reply_out->error.description.value, message,
			  &stoker->fault);
	if (r)
		return r;
	message->expect_description.size = 0;
	return handle_ask_attach(stoker, &attach->message, reply_out);
}

int handle_ask_token(struct stoker *stoker, struct attach *attach, struct message *reply_out)
{
	stoker->connection.until = attach->timeout_ms ? clock_ms() + attach->timeout_ms : 0;
	int r = handle_ask_for_token(stoker, attach, reply_out);
	stoker->connection.until = 0;
	return r;
}

int stoker_array(const struct stoker *stoker, uint32_t number, struct stoker_array *array_out)
{
	if (!stoker || !stoker->ring)
		return -ENOTCONN;
	if (number >= stoker->ring->n_fields)
		return -ENOENT;
	*array_out = batch_array_of(&stoker->ring->fields[number]);
	return 0;
}
