/* SPDX-License-Identifier: MIT */
/*
 * stoker_replay() of stoker.h: a batch again, by a second handle that lives as long as the call. It
 * borrows the credentials and descriptors of the first, whose lock is open meanwhile: other threads
 * give batches back.
 */
#include <errno.h>
#include <string.h>

#include "client/c/handle.h"
#include "client/c/replay/copy.h"
#include "client/c/stoker.h"

static int say_none(struct fault *fault, uint64_t epoch, uint64_t position)
{
	return fault_say(
		fault, -EINVAL,
		"no batch of this reader begins at position %llu of epoch %llu: give those "
		"of a batch",
		(unsigned long long)position, (unsigned long long)epoch);
}

/* Ask for the batch at `place`, for this rank alone: other ranks would have to read, too. */
static int attach_at(struct stoker *beside, const struct stoker *stoker, struct share_place place)
{
	struct message request, reply;
	struct resume at = stoker->resume;
	at.epoch = place.epoch;
	at.position = place.position;
	at.end = place.epoch + 1;
	at.inflight = 1;
	int r = resume_attach(&at, beside->connection.memory, &request);
	if (r)
		return fault_say(&beside->fault, -ENOMEM, "out of memory");
	request.attach.prefetch = 1;
	request.attach.pace = (struct text){STOKER_PACE_FREE, strlen(STOKER_PACE_FREE)};
	request.attach.job = (struct text){0};
	r = handle_ask_attach(beside, &request, &reply);
	if (r)
		return r;
	if (!ring_like(beside->ring, stoker->ring))
		return connection_broken(&beside->connection, &beside->fault,
					 "a ring of other samples");
	beside->share = stoker->share;
	beside->resume.epoch = place.epoch;
	beside->resume.position = place.position;
	beside->resume.end = at.end;
	beside->inflight = 1;
	beside->batch_size = stoker->batch_size;
	beside->end = 1;
	return 0;
}

/* Find where to attach for a batch that begins at `position`: lower ranks are before it. */
static int find_place(const struct stoker *stoker, uint64_t epoch, uint64_t position,
		      struct share_place *out, struct fault *fault)
{
	const struct share *share = &stoker->share;
	const uint64_t ours = share->batch_size * share->rank;
	if (epoch >= UINT32_MAX || position < ours || position - ours >= share->samples)
		return say_none(fault, epoch, position);
	*out = (struct share_place){epoch, position - ours};
	return 0;
}

static int take_it(struct stoker *beside, uint64_t epoch, uint64_t position, struct batch **out,
		   int timeout_ms)
{
	const struct stoker_batch *batch;
	int r = stoker_next(beside, &batch, timeout_ms);
	if (r < 0)
		return r;
	if (r == 0 || batch->epoch != epoch || batch->position != position)
		return say_none(&beside->fault, epoch, position);
	r = copy_batch(out, (const struct batch *)batch);
	return r ? fault_say(&beside->fault, r, "out of memory") : 0;
}

static int attach_and_take(struct stoker *beside, const struct stoker *stoker, uint64_t epoch,
			   uint64_t position, struct batch **out, int timeout_ms)
{
	struct share_place place;
	int r = find_place(stoker, epoch, position, &place, &beside->fault);
	if (r == 0)
		r = stoker_connect(beside, stoker->socket);
	if (r == 0)
		r = handle_enter(beside);
	if (r == 0)
		r = handle_leave(beside, attach_at(beside, stoker, place));
	return r ? r : take_it(beside, epoch, position, out, timeout_ms);
}

static int replay_batch(struct stoker *stoker, uint64_t epoch, uint64_t position,
			struct batch **out, int timeout_ms)
{
	struct stoker *beside = stoker_new();
	if (!beside)
		return fault_say(&stoker->fault, -ENOMEM, "out of memory");
	beside->fds = stoker->fds;
	beside->user_keys = stoker->user_keys;
	pthread_mutex_unlock(&stoker->lock);
	int r = attach_and_take(beside, stoker, epoch, position, out, timeout_ms);
	pthread_mutex_lock(&stoker->lock);
	stoker->fault = r ? beside->fault : FAULT_NULL;
	beside->fds = SENT_FDS_NULL;
	beside->user_keys = NULL;
	stoker_free(beside);
	return r;
}

int stoker_replay(struct stoker *stoker, uint64_t epoch, uint64_t position,
		  const struct stoker_batch **batch_out, int timeout_ms)
{
	struct batch *batch;
	int r = handle_enter_attached(stoker);
	*batch_out = NULL;
	if (r)
		return r;
	r = replay_batch(stoker, epoch, position, &batch, timeout_ms);
	if (r == 0) {
		batch->next = stoker->held;
		stoker->held = batch;
		*batch_out = &batch->batch;
	}
	return handle_leave(stoker, r);
}
