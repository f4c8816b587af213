/* SPDX-License-Identifier: MIT */
#include "client/c/share.h"

struct share share_of(const struct message_attach *attach, uint64_t samples)
{
	struct share share = {samples,	     attach->batch_size, attach->rank,
			      attach->world, SHARE_SHORT,	 false};
	if (text_equals(attach->last_batch, "drop"))
		share.last = SHARE_DROP;
	else if (text_equals(attach->last_batch, "pad"))
		share.last = SHARE_PAD;
	else if (text_equals(attach->last_batch, "wrap"))
		share.last = SHARE_WRAP;
	return share;
}

/* Samples of a batch of all ranks together. */
static uint64_t global_batch(const struct share *share)
{
	return share->batch_size * share->world;
}

static uint64_t offset(const struct share *share)
{
	return share->batch_size * share->rank;
}

/* Has this rank a batch in what is left of an epoch? */
static bool has_more(const struct share *share, uint64_t position)
{
	uint64_t left = position < share->samples ? share->samples - position : 0;
	if (share->last == SHARE_DROP)
		return left >= global_batch(share);
	return left > (share->last == SHARE_SHORT ? offset(share) : 0);
}

struct share_place share_next(const struct share *share, struct share_place at)
{
	bool beyond = at.position >= share->samples;
	if (share->sized)
		return at;
	if (!has_more(share, at.position))
		at = (struct share_place){at.epoch + 1, share->last == SHARE_WRAP && beyond
								? at.position - share->samples
								: 0};
	return (struct share_place){at.epoch, at.position + offset(share)};
}

/* Behind the batch that begins at `first`, which is as share_next() says. */
static struct share_place after(const struct share *share, struct share_place first)
{
	uint64_t global = global_batch(share), begin = first.position - offset(share);
	uint64_t left = share->samples - begin;
	bool ends = left <= global || (share->last == SHARE_DROP && left - global < global);
	if (!ends)
		return (struct share_place){first.epoch, begin + global};
	return (struct share_place){first.epoch + 1, share->last == SHARE_WRAP ? global - left : 0};
}

/* Count its samples that would stand behind the end of the epoch. */
static uint64_t over(const struct share *share, uint64_t position)
{
	uint64_t end = position + share->batch_size;
	uint64_t beyond = end > share->samples ? end - share->samples : 0;
	return beyond < share->batch_size ? beyond : share->batch_size;
}

/* Is what the daemon says in this epoch, behind `at`, and before where it goes on? */
static bool goes_on(struct share_place at, struct share_place here, struct share_place next)
{
	bool same = next.epoch == at.epoch && next.position > here.position;
	return here.epoch == at.epoch && here.position >= at.position &&
	       (same || (next.epoch == at.epoch + 1 && next.position == 0));
}

bool share_has_batch(const struct share *share, struct share_place at,
		     const struct message_batch *batch)
{
	const struct share_place here = {batch->epoch, batch->position};
	if (share->sized)
		return batch->count <= share->batch_size &&
		       goes_on(at, here,
			       (struct share_place){batch->next_epoch, batch->next_position});
	struct share_place first = share_next(share, at), next = after(share, first);
	uint64_t beyond = over(share, first.position);
	uint64_t count = share->batch_size - (share->last == SHARE_SHORT ? beyond : 0);
	return batch->epoch == first.epoch && batch->position == first.position &&
	       batch->count == count && batch->next_epoch == next.epoch &&
	       batch->next_position == next.position;
}

bool share_has_bad(const struct share *share, struct share_place at,
		   const struct message_bad_sample *bad)
{
	if (share->sized)
		return goes_on(at, (struct share_place){bad->epoch, bad->position},
			       (struct share_place){bad->next_epoch, bad->next_position});
	struct share_place first = share_next(share, at), next = after(share, first);
	return bad->epoch == first.epoch && bad->position >= first.position &&
	       bad->position - first.position < share->batch_size &&
	       bad->next_epoch == next.epoch && bad->next_position == next.position;
}
