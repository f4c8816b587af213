// SPDX-License-Identifier: MIT
#include "loop/engine/account.h"

#include "base/clock.h"
#include "loop/policy/reader_status.h"
#include "loop/state/core.h"
#include "loop/state/reader.h"
#include "loop/state/stream.h"

void account_wait(struct reader *reader)
{
	struct wait_time *wait = &reader->wait;
	bool made = wait->announced != reader->announced;
	wait->announced = reader->announced;
	wait_time_change(wait, reader_wait_state(reader), made ? &reader->last_made : NULL,
			 clock_ns());
}

static double smoothed_rate(double rate, uint64_t now, uint64_t *base, double seconds)
{
	double current = (double)(now - *base) / seconds;
	*base = now;
	return rate + (current - rate) * 0.5;
}

void account_tick(struct core *core, double seconds)
{
	list_for_each(stream, next, &core->streams, struct stream, link)
		stream->rate =
			smoothed_rate(stream->rate, stream->delivered, &stream->rate_base, seconds);
	list_for_each(reader, after, &core->readers, struct reader, in_core) {
		reader->rate =
			smoothed_rate(reader->rate, reader->announced, &reader->rate_base, seconds);
		account_wait(reader);
		wait_time_tick(&reader->wait, seconds);
	}
}
