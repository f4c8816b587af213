/* SPDX-License-Identifier: MIT */
/*
 * The library's door: every function of stoker.h, and the handle behind it. The handle owns the
 * connection, the ring it is attached to, the batches that the caller holds and the words of the
 * last error; it is used by one thread at a time. What is said on the wire is the connection's.
 */
#include "client/c/stoker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "client/c/address.h"
#include "client/c/attach.h"
#include "client/c/batch.h"
#include "client/c/connection.h"

#define ATTACH_QUIET_MS 60000 /* the daemon says PROGRESS more often than this */
#define HELD_MS 1000	      /* for an END to come when no batch can */

struct stoker {
	struct connection connection;
	struct ring *ring; /* NULL: not attached */
	struct attach_info info;
	struct batch *held;  /* all that the caller holds, of this attachment and of others */
	uint64_t attachment; /* which one this is, counted */
	uint64_t connected;  /* which connection, counted: leases are of one */
	uint64_t inflight;   /* of this attachment */
	int end;   /* what stoker_next() says from now on: 1 nothing special, 0, -ESHUTDOWN */
	int epoll; /* -1: nobody asked for a descriptor */
	uint32_t watched; /* what `epoll` watches the connection for; 0: not in it */
	pid_t pid;	  /* who made it */
	struct fault fault;
};

const char *stoker_version(void)
{
	return STOKER_VERSION;
}

struct stoker *stoker_new(void)
{
	struct stoker *stoker = calloc(1, sizeof(*stoker));
	if (!stoker)
		return NULL;
	connection_init(&stoker->connection);
	stoker->epoll = -1;
	stoker->pid = getpid();
	return stoker;
}

const char *stoker_error(const struct stoker *stoker)
{
	return stoker ? stoker->fault.text : "out of memory";
}

/* Every call begins here. */
static int stoker_enter(struct stoker *stoker)
{
	if (!stoker)
		return -EINVAL;
	stoker->fault.code = 0;
	stoker->fault.text[0] = '\0';
	if (stoker->pid == getpid())
		return 0;
	return fault_say(&stoker->fault, -EPERM,
			 "this handle was made before a fork and belongs to the parent: make one "
			 "in this process");
}

/* Every call that may have opened, closed or sent ends here: the descriptor that the caller waits
 * on must watch what the connection waits for. A closed socket has left the set by itself. */
static int stoker_leave(struct stoker *stoker, int result)
{
	struct connection *connection = &stoker->connection;
	if (connection->socket < 0)
		stoker->watched = 0;
	if (stoker->epoll < 0 || connection->socket < 0)
		return result;
	struct epoll_event event = {.events = EPOLLIN};
	if (connection_pending(connection))
		event.events |= EPOLLOUT;
	if (event.events == stoker->watched)
		return result;
	int how = stoker->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	if (epoll_ctl(stoker->epoll, how, connection->socket, &event) == 0)
		stoker->watched = event.events;
	else if (result >= 0)
		result = fault_say(&stoker->fault, -errno, "cannot watch the connection: %s",
				   strerror(errno));
	return result;
}

static void stoker_forget_ring(struct stoker *stoker)
{
	ring_drop(stoker->ring);
	stoker->ring = NULL;
	stoker->attachment++; /* batches held from now on are of another one */
}

void stoker_free(struct stoker *stoker)
{
	if (!stoker)
		return;
	connection_deinit(&stoker->connection);
	while (stoker->held) {
		struct batch *batch = stoker->held;
		stoker->held = batch->next;
		batch_free(batch);
	}
	ring_drop(stoker->ring);
	if (stoker->epoll >= 0)
		close(stoker->epoll);
	free(stoker);
}

int stoker_connect(struct stoker *stoker, const char *socket)
{
	struct message welcome;
	int r = stoker_enter(stoker);
	if (r)
		return r;
	connection_close(&stoker->connection);
	stoker->connected++;
	stoker->watched = 0;
	stoker_forget_ring(stoker);
	int fd = address_connect(ADDRESS_DATA, socket, &stoker->fault);
	if (fd == -ENOENT) {
		struct fault why = stoker->fault;
		return fault_say(&stoker->fault, fd,
				 "%s; start one with `stokerd`, or say by $STOKER_SOCKET where it "
				 "listens",
				 why.text);
	}
	if (fd < 0)
		return fd;
	r = connection_open(&stoker->connection, fd, "libstoker " STOKER_VERSION, &welcome,
			    &stoker->fault);
	return stoker_leave(stoker, r);
}

static int stoker_take_ring(struct stoker *stoker, const struct message_attached *attached)
{
	int fd = connection_take_fd(&stoker->connection);
	if (!text_equals(attached->transport, "fd") || fd < 0) {
		if (fd >= 0)
			close(fd);
		return connection_broken(&stoker->connection, &stoker->fault,
					 "no descriptor came with the ring");
	}
	int r = ring_map(&stoker->ring, fd, attached->bytes, attached->ring, &stoker->fault);
	close(fd);
	if (r == -EPROTO) {
		struct fault why = stoker->fault;
		return connection_broken(&stoker->connection, &stoker->fault, "%s", why.text);
	}
	if (r)
		connection_close(&stoker->connection);
	return r;
}

static int stoker_ask_attach(struct stoker *stoker, struct attach *attach)
{
	struct connection *connection = &stoker->connection;
	struct message reply;
	attach->message.attach.seq = connection_seq(connection);
	int r = connection_ask(connection, &attach->message, MESSAGE_ATTACHED, ATTACH_QUIET_MS,
			       &reply, &stoker->fault);
	if (r)
		return r;
	r = stoker_take_ring(stoker, &reply.attached);
	if (r)
		return r;
	attach_inform(&stoker->info, &reply.attached, stoker->ring);
	stoker->inflight = attach->message.attach.inflight;
	stoker->end = 1;
	return 0;
}

static int stoker_do_detach(struct stoker *stoker)
{
	struct connection *connection = &stoker->connection;
	struct message request = message_init(MESSAGE_DETACH), reply;
	if (!stoker->ring)
		return 0;
	stoker_forget_ring(stoker);
	request.detach.seq = connection_seq(connection);
	return connection_ask(connection, &request, MESSAGE_OK, CONNECTION_QUIET_MS, &reply,
			      &stoker->fault);
}

int stoker_detach(struct stoker *stoker)
{
	int r = stoker_enter(stoker);
	return r ? r : stoker_leave(stoker, stoker_do_detach(stoker));
}

int stoker_attach(struct stoker *stoker, const struct stoker_options *options)
{
	struct attach attach;
	int r = stoker_enter(stoker);
	if (r)
		return r;
	r = attach_build(&attach, options, &stoker->fault);
	if (r == 0)
		r = stoker_do_detach(stoker);
	if (r == 0)
		r = stoker_ask_attach(stoker, &attach);
	attach_free(&attach);
	return stoker_leave(stoker, r);
}

const struct stoker_info *stoker_info(const struct stoker *stoker)
{
	return stoker && stoker->ring ? &stoker->info.info : NULL;
}

/* -- batches ------------------------------------------------------------------------------ */

static int stoker_take_batch(struct stoker *stoker, const struct message_batch *message,
			     const struct stoker_batch **batch_out)
{
	struct batch *batch;
	int r = batch_new(&batch, message, stoker->ring, stoker->attachment);
	if (r == BATCH_E_RUNS)
		return connection_broken(&stoker->connection, &stoker->fault,
					 "a batch that does not lie in the ring");
	if (r) {
		connection_close(&stoker->connection); /* its lease would never come back */
		return fault_say(&stoker->fault, r, "out of memory");
	}
	batch->connected = stoker->connected;
	batch->next = stoker->held;
	stoker->held = batch;
	*batch_out = &batch->batch;
	return 1;
}

static int stoker_take_bad(struct stoker *stoker, const struct message_bad_sample *bad)
{
	return fault_say(&stoker->fault, -EBADMSG,
			 "epoch %llu, position %llu: sample %llu (%.*s): %.*s (%.*s)",
			 (unsigned long long)bad->epoch, (unsigned long long)bad->position,
			 (unsigned long long)bad->sample, (int)bad->path.size, bad->path.data,
			 (int)bad->text.size, bad->text.data, (int)bad->name.size, bad->name.data);
}

/* What a message means for who waits for a batch. */
static int stoker_take(struct stoker *stoker, const struct message *message,
		       const struct stoker_batch **batch_out)
{
	switch (message->kind) {
	case MESSAGE_BATCH:
		return stoker_take_batch(stoker, &message->batch, batch_out);
	case MESSAGE_BAD_SAMPLE:
		return stoker_take_bad(stoker, &message->bad_sample);
	case MESSAGE_END:
		return stoker->end = 0;
	case MESSAGE_GOAWAY:
		stoker->end = -ESHUTDOWN;
		return fault_say(&stoker->fault, -ESHUTDOWN, "stokerd stops: %.*s",
				 (int)message->goaway.text.size, message->goaway.text.data);
	case MESSAGE_ERROR:
		return connection_refusal(&message->error, &stoker->fault);
	default:
		return connection_broken(&stoker->connection, &stoker->fault,
					 "%s where a batch should come",
					 message_name(message->kind));
	}
}

static uint64_t stoker_count_held(const struct stoker *stoker)
{
	uint64_t count = 0;
	for (const struct batch *batch = stoker->held; batch; batch = batch->next)
		count += batch->attachment == stoker->attachment;
	return count;
}

static int stoker_receive(struct stoker *stoker, const struct stoker_batch **batch_out,
			  int timeout_ms)
{
	struct message message;
	bool holds_all = timeout_ms < 0 && stoker_count_held(stoker) >= stoker->inflight;
	int r = connection_receive(&stoker->connection, holds_all ? HELD_MS : timeout_ms, &message,
				   &stoker->fault);
	if (r == 0)
		return stoker_take(stoker, &message, batch_out);
	if (r != -EAGAIN)
		return r;
	if (holds_all)
		return fault_say(&stoker->fault, -EDEADLK,
				 "all %llu batches in flight are held: release one, or raise "
				 "inflight",
				 (unsigned long long)stoker->inflight);
	if (timeout_ms == 0)
		return fault_say(&stoker->fault, -EAGAIN, "no batch is ready");
	return fault_say(&stoker->fault, -ETIMEDOUT, "no batch was ready within %d ms", timeout_ms);
}

int stoker_next(struct stoker *stoker, const struct stoker_batch **batch_out, int timeout_ms)
{
	int r = stoker_enter(stoker);
	if (r)
		return r;
	*batch_out = NULL;
	if (!stoker->ring)
		return fault_say(&stoker->fault, -ENOTCONN, "not attached to a dataset");
	if (stoker->end == 0)
		return 0;
	if (stoker->end == -ESHUTDOWN)
		return fault_say(&stoker->fault, -ESHUTDOWN, "stokerd stops");
	return stoker_leave(stoker, stoker_receive(stoker, batch_out, timeout_ms));
}

/* The place of a batch on the list of held ones, or the list's end. */
static struct batch **stoker_find(struct stoker *stoker, const struct stoker_batch *batch)
{
	struct batch **at = &stoker->held;
	while (*at && &(*at)->batch != batch)
		at = &(*at)->next;
	return at;
}

int stoker_release(struct stoker *stoker, const struct stoker_batch *batch)
{
	int r = stoker_enter(stoker);
	if (r)
		return r;
	struct batch **at = stoker_find(stoker, batch), *held = *at;
	if (!held)
		return fault_say(&stoker->fault, -EINVAL,
				 "this is no batch that the handle holds: was it released twice?");
	/* If the daemon is gone there is nobody to give it back to: stoker_next() says so. */
	if (held->connected == stoker->connected && stoker->connection.socket >= 0)
		r = connection_release(&stoker->connection, held->lease, &stoker->fault);
	if (r == -ENOMEM && stoker->connection.socket >= 0)
		return r;
	*at = held->next;
	batch_free(held);
	return stoker_leave(stoker, r);
}

int stoker_fd(struct stoker *stoker)
{
	int r = stoker_enter(stoker);
	if (r)
		return r;
	if (stoker->epoll < 0)
		stoker->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (stoker->epoll < 0)
		return fault_say(&stoker->fault, -errno, "cannot make a descriptor: %s",
				 strerror(errno));
	return stoker_leave(stoker, stoker->epoll);
}
