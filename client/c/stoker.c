/* SPDX-License-Identifier: MIT */
/*
 * The public functions of stoker.h. handle.h says what a handle owns and which thread may do what,
 * connection.h does the talking on the wire.
 */
#include "client/c/stoker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/c/clock.h"
#include "client/c/handle.h"
#include "client/c/like.h"
#include "client/c/recover.h"
#include "client/c/words.h"

#define HELD_MS 1000	  /* how long to wait for END or RING when no batch can come */
#define INFLIGHT_MAX 1024 /* proto/tables.h says so of CREDIT */

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
	stoker->watch = WATCH_NULL;
	stoker->pid = getpid();
	stoker->caller = pthread_self();
	pthread_mutex_init(&stoker->lock, NULL);
	stoker->connection.lock = &stoker->lock;
	return stoker;
}

const char *stoker_error(const struct stoker *stoker)
{
	return stoker ? stoker->fault.text : "out of memory";
}

const char *stoker_error_name(const struct stoker *stoker)
{
	return stoker && stoker->fault.code ? error_name(stoker->fault.code) : "";
}

void stoker_free(struct stoker *stoker)
{
	if (!stoker)
		return;
	connection_deinit(&stoker->connection);
	batch_free_all(stoker->held);
	ring_drop(stoker->ring);
	resume_deinit(&stoker->resume);
	sent_fds_close(&stoker->fds);
	user_keys_free(stoker->user_keys);
	classes_deinit(&stoker->classes);
	classes_deinit(&stoker->paths);
	token_deinit(&stoker->token);
	free(stoker->token_json);
	watch_deinit(&stoker->watch);
	free(stoker->socket);
	if (stoker->pid == getpid()) /* in a child it may be locked */
		pthread_mutex_destroy(&stoker->lock);
	free(stoker);
}

int stoker_connect(struct stoker *stoker, const char *socket)
{
	int r = handle_enter(stoker);
	if (r)
		return r;
	char *copy = socket ? strdup(socket) : NULL;
	if (socket && !copy)
		return handle_leave(stoker, fault_say(&stoker->fault, -ENOMEM, "out of memory"));
	free(stoker->socket);
	stoker->socket = copy;
	handle_forget_ring(stoker);
	r = handle_open(stoker);
	if (r == -ENOENT) {
		struct fault why = stoker->fault;
		fault_say(&stoker->fault, r,
			  "%s; start one with `stokerd`, or set $STOKER_SOCKET to its socket",
			  why.text);
	}
	return handle_leave(stoker, r);
}

int stoker_credentials(struct stoker *stoker, const char *url, const char *key, const char *secret,
		       const char *token, uint64_t expires)
{
	int r = handle_enter(stoker);
	if (r)
		return r;
	if (!url || !key || !secret)
		return handle_leave(stoker, fault_say(&stoker->fault, -EINVAL,
						      "a URL, a key and a secret are needed"));
	bool waits = stoker->resume.attach && stoker->resume.limit_ms;
	return handle_leave(stoker, user_keys_put(&stoker->user_keys, &stoker->connection, url, key,
						  secret, token, expires, waits, &stoker->fault));
}

static int stoker_do_attach(struct stoker *stoker, struct attach *attach)
{
	struct message reply;
	struct token token;
	const char *note;
	int r = attach_settle_resize(attach, stoker->connection.resizes, &note, &stoker->fault);
	if (r)
		return r;
	r = handle_ask_token(stoker, attach, &reply);
	if (r)
		return r;
	r = token_make(&token, &attach->token, &attach->message.attach, &reply.attached,
		       attach->resize, &stoker->fault);
	if (r == 0) {
		token_deinit(&stoker->token);
		stoker->token = token;
		r = resume_keep(&stoker->resume, &attach->message, &reply.attached,
				attach->reconnect_ms, &stoker->fault);
	}
	if (r) {
		connection_close(&stoker->connection);
		handle_forget_ring(stoker);
		return r;
	}
	attach_inform(&stoker->info, &reply.attached, stoker->ring, attach->resize, note);
	stoker->share = share_of(&attach->message.attach, reply.attached.samples);
	stoker->share.sized = ring_is_sized(stoker->ring);
	stoker->inflight = attach->message.attach.inflight;
	stoker->batch_size = attach->message.attach.batch_size;
	stoker->end = 1;
	return 0;
}

static int stoker_do_detach(struct stoker *stoker)
{
	struct connection *connection = &stoker->connection;
	struct message request = message_init(MESSAGE_DETACH), reply;
	if (!stoker->ring)
		return 0;
	handle_forget_ring(stoker);
	request.detach.seq = connection_seq(connection);
	return connection_ask(connection, &request, MESSAGE_OK, CONNECTION_QUIET_MS, &reply,
			      &stoker->fault);
}

int stoker_detach(struct stoker *stoker)
{
	int r = handle_enter(stoker);
	return r ? r : handle_leave(stoker, stoker_do_detach(stoker));
}

int stoker_attach(struct stoker *stoker, const struct stoker_options *options)
{
	struct attach attach;
	int r = handle_enter(stoker);
	if (r)
		return r;
	struct sent_fds fds = SENT_FDS_NULL;
	r = attach_build(&attach, options, stoker->connection.takes_fds ? &fds : NULL,
			 &stoker->fault);
	if (r == 0)
		r = stoker_do_detach(stoker);
	if (r == 0 && attach.message.attach.like)
		r = like_settle(&attach, &stoker->connection,
				stoker->connection.takes_fds ? &fds : NULL, &stoker->fault);
	if (r == 0) {
		sent_fds_close(&stoker->fds);
		stoker->fds = fds;
		fds = SENT_FDS_NULL;
		r = stoker_do_attach(stoker, &attach);
	}
	sent_fds_close(&fds);
	attach_free(&attach);
	return handle_leave(stoker, r);
}

const struct stoker_info *stoker_info(const struct stoker *stoker)
{
	return stoker && stoker->ring ? &stoker->info.info : NULL;
}

const char *stoker_token(struct stoker *stoker)
{
	if (handle_enter_attached(stoker))
		return NULL;
	free(stoker->token_json);
	stoker->token_json =
		token_json(&stoker->token, stoker->resume.epoch, stoker->resume.position);
	int r = stoker->token_json ? 0 : fault_say(&stoker->fault, -ENOMEM, "out of memory");
	return handle_leave(stoker, r) ? NULL : stoker->token_json;
}

static int stoker_do_credit(struct stoker *stoker, uint32_t inflight)
{
	struct message credit = message_init(MESSAGE_CREDIT);
	if (inflight < 1 || inflight > INFLIGHT_MAX)
		return fault_say(&stoker->fault, -EINVAL, "inflight is %u, not 1 to %d", inflight,
				 INFLIGHT_MAX);
	credit.credit.inflight = inflight;
	int r = connection_send(&stoker->connection, &credit, &stoker->fault);
	if (r == -ENOMEM)
		return r;
	/* If the daemon is gone, stoker_next() reports it, and the next ATTACH says the number. */
	stoker->inflight = inflight;
	stoker->resume.inflight = inflight;
	stoker->fault = FAULT_NULL;
	return 0;
}

int stoker_credit(struct stoker *stoker, uint32_t inflight)
{
	int r = handle_enter_attached(stoker);
	return r ? r : handle_leave(stoker, stoker_do_credit(stoker, inflight));
}

/* -- batches ------------------------------------------------------------------------------ */

static struct share_place stoker_place(const struct stoker *stoker)
{
	return (struct share_place){stoker->resume.epoch, stoker->resume.position};
}

static int stoker_out_of_order(struct stoker *stoker, const char *what, uint64_t epoch,
			       uint64_t position)
{
	struct share_place next = share_next(&stoker->share, stoker_place(stoker));
	return connection_broken(&stoker->connection, &stoker->fault,
				 "batches out of order: %s of epoch %llu, position %llu, where the "
				 "batch of epoch %llu, position %llu is next",
				 what, (unsigned long long)epoch, (unsigned long long)position,
				 (unsigned long long)next.epoch, (unsigned long long)next.position);
}

static int stoker_take_batch(struct stoker *stoker, const struct message_batch *message,
			     const struct stoker_batch **batch_out)
{
	struct batch *batch;
	int r = batch_new(&batch, message, stoker->ring, stoker->batch_size, stoker->attachment);
	if (r == BATCH_E_RUNS)
		return connection_broken(&stoker->connection, &stoker->fault,
					 "a batch that is too large or outside of the ring");
	if (r == 0 && (message->lease <= stoker->last_lease ||
		       !share_has_batch(&stoker->share, stoker_place(stoker), message))) {
		batch_free(batch);
		return stoker_out_of_order(stoker, "a batch", message->epoch, message->position);
	}
	if (r) {
		connection_close(&stoker->connection); /* else its lease would never be released */
		return fault_say(&stoker->fault, r, "out of memory");
	}
	resume_pass(&stoker->resume, message->next_epoch, message->next_position);
	if (message->dataset_fingerprint.size) {
		text_copy(stoker->resume.dataset, sizeof(stoker->resume.dataset),
			  message->dataset_fingerprint);
		(void)token_learn(&stoker->token, message->dataset_fingerprint,
				  &stoker->fault); /* without memory it says less */
	}
	stoker->last_lease = message->lease;
	handle_forget_stall(stoker);
	batch->connected = stoker->connected;
	batch->next = stoker->held;
	stoker->held = batch;
	*batch_out = &batch->batch;
	return 1;
}

static int stoker_take_bad(struct stoker *stoker, const struct message_bad_sample *bad)
{
	if (!share_has_bad(&stoker->share, stoker_place(stoker), bad))
		return stoker_out_of_order(stoker, "a bad sample", bad->epoch, bad->position);
	resume_pass(&stoker->resume, bad->next_epoch, bad->next_position);
	handle_forget_stall(stoker);
	return words_of_bad_sample(&stoker->fault, bad);
}

static int stoker_take_end(struct stoker *stoker, const struct message_end *end)
{
	if (share_next(&stoker->share, stoker_place(stoker)).epoch < stoker->resume.end)
		return stoker_out_of_order(stoker, "the end", end->epoch, 0);
	return stoker->end = 0;
}

#define TAKEN_NOTHING 2 /* no result yet: receive the next message */

/* Handle a message while waiting for a batch. */
static int stoker_take(struct stoker *stoker, const struct message *message,
		       const struct stoker_batch **batch_out)
{
	int r;
	switch (message->kind) {
	case MESSAGE_BATCH:
		return stoker_take_batch(stoker, &message->batch, batch_out);
	case MESSAGE_BAD_SAMPLE:
		return stoker_take_bad(stoker, &message->bad_sample);
	case MESSAGE_RING:
		r = handle_take_ring(stoker, message->ring.transport, message->ring.bytes,
				     message->ring.ring);
		return r ? r : TAKEN_NOTHING;
	case MESSAGE_STALLED:
		words_of_stalled(&stoker->stalled, &message->stalled);
		stoker->blocking = message->stalled.lease;
		return TAKEN_NOTHING;
	case MESSAGE_END:
		return stoker_take_end(stoker, &message->end);
	case MESSAGE_GOAWAY:
		return stoker->end = words_of_goaway(&stoker->fault, &message->goaway);
	case MESSAGE_ERROR:
		return words_of_error(&stoker->fault, &message->error);
	default:
		return connection_broken(&stoker->connection, &stoker->fault,
					 "%s instead of a batch", message_name(message->kind));
	}
}

static bool stoker_holds_all(const struct stoker *stoker)
{
	return batch_count(stoker->held, stoker->attachment) >= stoker->inflight;
}

/* Check for the batch that the next one waits for. */
static bool stoker_holds_blocking(const struct stoker *stoker)
{
	for (const struct batch *held = stoker->held; held && stoker->blocking; held = held->next)
		if (held->lease == stoker->blocking && held->connected == stoker->connected)
			return true;
	return false;
}

static bool stoker_waits_in_vain(const struct stoker *stoker)
{
	return stoker_holds_all(stoker) || stoker_holds_blocking(stoker);
}

static int stoker_say_held(struct stoker *stoker, int result)
{
	if (!stoker_holds_all(stoker))
		return fault_say(&stoker->fault, result, "%s", stoker->stalled.text);
	return fault_say(&stoker->fault, result,
			 "all %llu batches of inflight are held: release one, or raise inflight",
			 (unsigned long long)stoker->inflight);
}

/* Wait for a message until `until` (-1: for ever), which is `timeout_ms` away. */
static int stoker_receive(struct stoker *stoker, const struct stoker_batch **batch_out,
			  int64_t until, int timeout_ms)
{
	struct message message;
	bool in_vain = stoker_waits_in_vain(stoker);
	int64_t left = until < 0 ? -1 : until - clock_ms();
	int wait_ms = until < 0 ? -1 : left < 0 ? 0 : (int)left;
	int r = connection_receive(&stoker->connection,
				   in_vain && timeout_ms < 0 ? HELD_MS : wait_ms, &message,
				   &stoker->fault);
	if (r == 0)
		return stoker_take(stoker, &message, batch_out);
	if (r != -EAGAIN)
		return r;
	if (timeout_ms == 0)
		return stoker_holds_blocking(stoker)
			       ? stoker_say_held(stoker, -EDEADLK)
			       : fault_say(&stoker->fault, -EAGAIN, "no batch is ready");
	if (in_vain && timeout_ms < 0 && !stoker_waits_in_vain(stoker))
		return TAKEN_NOTHING; /* another thread gave one back */
	if (in_vain)
		return stoker_say_held(stoker, timeout_ms < 0 ? -EDEADLK : -ETIMEDOUT);
	return fault_say(&stoker->fault, -ETIMEDOUT, "no batch was ready within %d ms%s%s",
			 timeout_ms, *stoker->stalled.text ? ": " : "", stoker->stalled.text);
}

/* -- taking them -------------------------------------------------------------------------- */

static int stoker_step(struct stoker *stoker, const struct stoker_batch **batch_out, int64_t until,
		       int timeout_ms)
{
	int r;
	if (stoker->resume.lost) {
		r = recover_wait(stoker, until);
		if (r == -EAGAIN)
			return fault_say(&stoker->fault, timeout_ms ? -ETIMEDOUT : -EAGAIN,
					 "%s; waiting for it to come back",
					 stoker->resume.why.text);
		if (r)
			return r;
	}
	if (stoker->end == 0)
		return 0;
	if (stoker->end == -ESHUTDOWN)
		return fault_say(&stoker->fault, -ESHUTDOWN, "stokerd is stopping");
	r = stoker_receive(stoker, batch_out, until, timeout_ms);
	if ((r == -ECONNRESET || (r == -ESHUTDOWN && stoker->end == -ESHUTDOWN)) &&
	    resume_lose(&stoker->resume, r, &stoker->fault))
		return TAKEN_NOTHING;
	return r;
}

int stoker_next(struct stoker *stoker, const struct stoker_batch **batch_out, int timeout_ms)
{
	int r = handle_enter_attached(stoker);
	*batch_out = NULL;
	if (r)
		return r;
	int64_t until = timeout_ms < 0 ? -1 : clock_ms() + timeout_ms;
	do
		r = stoker_step(stoker, batch_out, until, timeout_ms);
	while (r == TAKEN_NOTHING);
	if (r >= 0)
		stoker->fault.text[0] = '\0'; /* that of an attempt that failed before */
	return handle_leave(stoker, r);
}

int stoker_seek(struct stoker *stoker, uint64_t epoch, uint64_t position)
{
	int r = handle_enter_attached(stoker);
	return r ? r : handle_leave(stoker, recover_seek(stoker, epoch, position));
}

/* The link to a batch in the list of held ones, or the end of the list. */
static struct batch **stoker_find(struct stoker *stoker, const struct stoker_batch *batch)
{
	struct batch **at = &stoker->held;
	while (*at && &(*at)->batch != batch)
		at = &(*at)->next;
	return at;
}

static int stoker_do_release(struct stoker *stoker, const struct stoker_batch *batch,
			     struct fault *fault)
{
	struct batch **at = stoker_find(stoker, batch), *held = *at;
	int r = 0;
	if (!held)
		return fault_say(fault, -EINVAL,
				 "the handle does not hold this batch: was it released twice?");
	/* If the daemon is gone, there is nothing to send: stoker_next() reports it. */
	if (held->connected == stoker->connected && stoker->connection.socket >= 0)
		r = connection_release(&stoker->connection, held->lease, fault);
	if (r == -ENOMEM && stoker->connection.socket >= 0)
		return r;
	*at = held->next;
	batch_free(held);
	return r;
}

int stoker_release(struct stoker *stoker, const struct stoker_batch *batch)
{
	int r = handle_lock(stoker);
	if (r)
		return r;
	struct fault fault = FAULT_NULL;
	r = stoker_do_release(stoker, batch, &fault);
	if (pthread_equal(stoker->caller, pthread_self()))
		stoker->fault = fault;
	handle_unlock(stoker);
	return r;
}

int stoker_fd(struct stoker *stoker)
{
	int r = handle_enter(stoker);
	if (r)
		return r;
	int fd = watch_open(&stoker->watch);
	if (fd < 0)
		fault_say(&stoker->fault, fd, "cannot make a descriptor: %s", strerror(-fd));
	return handle_leave(stoker, fd);
}
