// SPDX-License-Identifier: MIT
#include "loop/meter/wait_time.h"

#include <math.h>
#include <stddef.h>

#define WAIT_RECENT_S 10

/* Part of the time from `from` on that went by before the sample's bytes were there. Time before it
 * was ordered was spent behind others like it: that counts as this one's own does. */
static double storage_part(uint64_t from_ns, const struct wait_sample *made, uint64_t now_ns)
{
	if (made->ordered_ns > from_ns)
		from_ns = made->ordered_ns;
	if (made->fetched_ns <= from_ns || now_ns <= from_ns)
		return 0;
	double part = (double)(made->fetched_ns - from_ns) / (double)(now_ns - from_ns);
	return part < 1 ? part : 1;
}

static void wait_time_split(struct wait_time *wait, const struct wait_sample *made, uint64_t now_ns)
{
	double part = storage_part(wait->batch_since_ns, made, now_ns);
	uint64_t storage = (uint64_t)(part * (double)wait->batch_ns);
	wait->ns[WAIT_STORAGE] += storage;
	wait->ns[WAIT_DECODE] += wait->batch_ns - storage;
	wait->batch_ns = 0;
}

void wait_time_change(struct wait_time *wait, enum wait_state state, const struct wait_sample *made,
		      uint64_t now_ns)
{
	uint64_t ns = now_ns - wait->since_ns;
	if (wait->state == WAIT_FOR_TRAINER)
		wait->ns[WAIT_TRAINER] += ns;
	else if (wait->state == WAIT_FOR_SLOT)
		wait->ns[WAIT_SLOT] += ns;
	else if (wait->state == WAIT_FOR_BATCH)
		wait->batch_ns += ns;
	if (made)
		wait_time_split(wait, made, now_ns);
	if (state == WAIT_FOR_BATCH && (made || wait->state != WAIT_FOR_BATCH))
		wait->batch_since_ns = now_ns;
	if (made || (wait->state != WAIT_FOR_BATCH && wait->state != WAIT_FOR_SLOT))
		wait->wants_since_ns = now_ns;
	wait->state = state;
	wait->since_ns = now_ns;
}

void wait_time_tick(struct wait_time *wait, double seconds)
{
	double fading = exp(-seconds / WAIT_RECENT_S);
	for (int i = 0; i < WAIT_CAUSES; i++) {
		wait->recent_ns[i] =
			wait->recent_ns[i] * fading + (double)(wait->ns[i] - wait->ticked_ns[i]);
		wait->ticked_ns[i] = wait->ns[i];
	}
}

void wait_time_add_recent(const struct wait_time *wait, double ns[WAIT_CAUSES])
{
	for (int i = 0; i < WAIT_CAUSES; i++)
		ns[i] += wait->recent_ns[i] + (double)(wait->ns[i] - wait->ticked_ns[i]);
}

const char *wait_time_shares(double ns[WAIT_CAUSES], const char *storage)
{
	const char *const names[] = {"trainer", storage, "decode", "slot"};
	double sum = 0;
	int most = 0;
	for (int i = 0; i < WAIT_CAUSES; i++) {
		sum += ns[i];
		most = ns[i] > ns[most] ? i : most;
	}
	if (sum <= 0)
		return "";
	for (int i = 0; i < WAIT_CAUSES; i++)
		ns[i] /= sum;
	return names[most];
}
