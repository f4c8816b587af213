// SPDX-License-Identifier: MIT
#include "loop/engine/account.h"

#include "loop/policy/reader_status.h"
#include "loop/state/core.h"
#include "loop/state/reader.h"
#include "loop/state/stream.h"

void account_wait(struct reader *reader)
{
	reader->wait = reader_wait_now(reader);
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
