// SPDX-License-Identifier: MIT
#include "loop/engine/measure.h"

#include "loop/policy/reader_status.h"
#include "loop/state/core.h"
#include "loop/state/reader.h"
#include "loop/state/stream.h"

void measure_wait(struct reader *reader)
{
	reader->wait = reader_wait_now(reader);
}

static double smoothed_rate(double rate, uint64_t now, uint64_t *base, double seconds)
{
	double current = (double)(now - *base) / seconds;
	*base = now;
	return rate + (current - rate) * 0.5;
}

static void account_shares(struct core *core, const struct wait_time *wait, double seconds)
{
	for (int i = 0; i < WAIT_CAUSES; i++) {
		double share = (double)(wait->ns[i] - wait->ticked_ns[i]) * 1e-9 / seconds;
		if (share > core->wait_shares[i])
			core->wait_shares[i] = share < 1 ? share : 1;
	}
	double pending = (double)(wait->since_ns - wait->batch_since_ns) * 1e-9 / seconds;
	if (wait->state == WAIT_FOR_BATCH && pending > core->wait_pending)
		core->wait_pending = pending < 1 ? pending : 1;
}

/* A trainer waits when it does not work, from the attach on until the end. */
static void account_minute(struct reader *reader, double seconds)
{
	const struct wait_time *wait = &reader->wait;
	double trainer = (double)(wait->ns[WAIT_TRAINER] - wait->ticked_ns[WAIT_TRAINER]) * 1e-9;
	double attached = (double)(wait->since_ns - reader->attached_ns) * 1e-9;
	double waited = (attached < seconds ? attached : seconds) - trainer;
	if (wait->state == WAIT_FOR_NOTHING)
		waited = 0;
	minute_add(&reader->minute, reader->announced - reader->rate_base, waited / seconds);
}

void measure_tick(struct core *core, double seconds)
{
	list_for_each(stream, next, &core->streams, struct stream, link)
		stream->rate =
			smoothed_rate(stream->rate, stream->delivered, &stream->rate_base, seconds);
	for (int i = 0; i < WAIT_CAUSES; i++)
		core->wait_shares[i] = 0;
	core->wait_pending = 0;
	list_for_each(reader, after, &core->readers, struct reader, in_core) {
		measure_wait(reader);
		account_minute(reader, seconds);
		account_shares(core, &reader->wait, seconds);
		reader->rate =
			smoothed_rate(reader->rate, reader->announced, &reader->rate_base, seconds);
		wait_time_tick(&reader->wait, seconds);
	}
}
