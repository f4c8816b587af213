// SPDX-License-Identifier: MIT
/*
 * How long a finished batch takes to reach a trainer that waits for it:
 *	handover_bench SOCKET FOLDER [SECONDS]
 * From the moment that its last sample was made (BATCH says when) to stoker_next()'s return, of
 * batches of one photograph. Only batches that were waited for count: one that lay ready took the
 * trainer's time, not the daemon's. Prints one line of JSON.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "client/c/stoker.h"

#define WARM_NS 1000000000u
#define TIMES_MAX 1000000

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

static void attach(struct stoker *stoker, const char *socket, const char *folder)
{
	struct stoker_options options = STOKER_OPTIONS_INIT;
	options.dataset = folder;
	options.transforms = "RandomResizedCrop(size=224) | RandomHorizontalFlip()";
	options.batch_size = 1;
	options.inflight = 1;
	options.order_seed = 77; /* a stream that nobody else reads */
	if (stoker_connect(stoker, socket) < 0 || stoker_attach(stoker, &options) < 0)
		errx(1, "%s", stoker_error(stoker));
}

/* The time of one hand-over; 0 if the batch was there already. */
static uint64_t take(struct stoker *stoker)
{
	const struct stoker_batch *batch;
	uint64_t asked = clock_ns(), took = 0;
	if (stoker_next(stoker, &batch, -1) <= 0)
		errx(1, "%s", stoker_error(stoker));
	uint64_t now = clock_ns();
	if (batch->ready_ns == 0)
		errx(1, "this daemon does not say when a batch was ready");
	if (batch->ready_ns > asked)
		took = now - batch->ready_ns;
	if (stoker_release(stoker, batch) < 0)
		errx(1, "%s", stoker_error(stoker));
	return took;
}

/* So many of them, in `times`, once all is warm. */
static uint64_t gather(struct stoker *stoker, double seconds, uint64_t *times)
{
	uint64_t begun = clock_ns(), count = 0, now;
	while ((now = clock_ns()) - begun < WARM_NS + (uint64_t)(seconds * 1e9)) {
		uint64_t took = take(stoker);
		if (took && now - begun > WARM_NS && count < TIMES_MAX)
			times[count++] = took;
	}
	return count;
}

int main(int argc, char **argv)
{
	if (argc < 3 || argc > 4)
		errx(64, "usage: handover_bench SOCKET FOLDER [SECONDS]");
	struct stoker *stoker = stoker_new();
	uint64_t *times = malloc(TIMES_MAX * sizeof(*times));
	if (!stoker || !times)
		errx(1, "out of memory");
	attach(stoker, argv[1], argv[2]);
	uint64_t count = gather(stoker, argc > 3 ? atof(argv[3]) : 3, times);
	if (count == 0)
		errx(1, "no batch was waited for");
	qsort(times, count, sizeof(*times), by_value);
	printf("{\"batches\": %llu, \"p50_us\": %.1f, \"p99_us\": %.1f}\n",
	       (unsigned long long)count, (double)times[count / 2] / 1e3,
	       (double)times[count * 99 / 100] / 1e3);
	free(times);
	stoker_free(stoker);
	return 0;
}
