// SPDX-License-Identifier: MIT
#include "proto/advice/limit.h"

#include <stdio.h>
#include <string.h>

/* Threads that are less busy than this have time for more. */
#define WORKERS_BUSY 0.7
#define FETCHERS_BUSY 0.5 /* they wait for the storage, and for each other's place in its queue */

static const struct {
	const char *name, *words;
} limits[LIMIT_COUNT] = {
	[LIMIT_TRAINER] = {"trainer", "the trainer works, and does not wait for the daemon"},
	[LIMIT_STORAGE] = {"storage", "waiting for storage"},
	[LIMIT_NETWORK] = {"network", "waiting for a server of data"},
	[LIMIT_CODE] = {"user code", "waiting for the user's own code"},
	[LIMIT_NO_PRODUCER] = {"no producer", "waiting, as no process runs the user's own code"},
	[LIMIT_DECODE] = {"decode", "waiting for decoding"},
	[LIMIT_SLOT] = {"slot", "waiting for another reader of the ring"},
	[LIMIT_TRANSFORM] = {"transform", "waiting for transforms"},
	[LIMIT_HAND_OVER] = {"hand-over", "waiting for batches to be handed over"},
};

const char *limit_name(enum limit limit)
{
	return limits[limit].name;
}

const char *limit_words(enum limit limit)
{
	return limits[limit].words;
}

enum limit limit_of_name(const char *name)
{
	unsigned limit = 0;
	while (limit < LIMIT_COUNT && strcmp(limits[limit].name, name) != 0)
		limit++;
	return (enum limit)limit;
}

static void say_idle(const char *threads, double busy, char *out, size_t size)
{
	snprintf(out, size,
		 "%s are idle %.0f %% of their time, so more of them would not help: let the "
		 "trainer ask for more ahead (prefetch), or for larger batches",
		 threads, 100 * (1 - busy));
}

static void say_storage(enum limit limit, const struct load *load, char *out, size_t size)
{
	bool far = limit == LIMIT_NETWORK;
	const char *other = far ? "a server that is nearer, or cache-dir, which keeps what was read"
				: "faster storage, smaller files, or more cache-memory";
	if (load->fetchers_busy < FETCHERS_BUSY && load->fetchers > 1)
		say_idle("the fetchers", load->fetchers_busy, out, size);
	else if (load->fetchers_auto)
		snprintf(out, size, "fetchers = auto has added what helps: %s", other);
	else
		snprintf(out, size,
			 "stokerctl set fetchers %.0f, if %s can serve more reads at "
			 "once; else %s",
			 2 * load->fetchers, far ? "the server" : "the storage", other);
}

static void say_workers(enum limit limit, const struct load *load, char *out, size_t size)
{
	double idle = load->processors - load->workers;
	if (load->workers_busy < WORKERS_BUSY)
		say_idle("the workers", load->workers_busy, out, size);
	else if (idle >= 1 && load->workers_auto)
		snprintf(out, size,
			 "workers = auto adds workers while processors are idle: wait, "
			 "or stop what else keeps the processors busy");
	else if (idle >= 1)
		snprintf(out, size,
			 "stokerctl set workers %.0f: %.0f %s no worker (the trainers need "
			 "some, too)",
			 load->workers + (double)(long)idle, (double)(long)idle,
			 idle < 2 ? "processor has" : "processors have");
	else if (limit == LIMIT_TRANSFORM || load->transform > 0.5)
		snprintf(out, size,
			 "every processor has a worker: use fewer output pixels, or "
			 "dtype uint8 and Normalize on the device");
	else if (load->index_full)
		snprintf(out, size,
			 "a larger index-memory: it is full, so some JPEGs have no seek "
			 "index");
	else
		snprintf(out, size,
			 "every processor has a worker: use draft=True if the images are "
			 "much larger than the output, more cache-memory, smaller files, or more "
			 "processors");
}

void limit_advice(enum limit limit, const struct load *load, char *out, size_t size)
{
	switch (limit) {
	case LIMIT_STORAGE:
	case LIMIT_NETWORK:
		say_storage(limit, load, out, size);
		break;
	case LIMIT_CODE:
		snprintf(out, size,
			 "more processes that run the code (num_workers), as long as processors "
			 "are idle; or let the daemon do a part of it: stoker.Source gives bytes, "
			 "which it decodes, keeps and transforms");
		break;
	case LIMIT_NO_PRODUCER:
		snprintf(out, size,
			 "start one: the loader of a stoker.Source does, as long as its process "
			 "lives; stokerctl producers lists them");
		break;
	case LIMIT_DECODE:
	case LIMIT_TRANSFORM:
		say_workers(limit, load, out, size);
		break;
	case LIMIT_SLOT:
		snprintf(out, size,
			 "the slowest trainer of a ring sets the pace: stokerctl readers "
			 "shows which; with more ring-memory the others leave it behind");
		break;
	case LIMIT_HAND_OVER:
		snprintf(out, size,
			 "use larger batches: each one costs a message in each "
			 "direction; or stop other programs that keep the processors busy");
		break;
	default:
		snprintf(out, size,
			 "nothing: reading the batches takes longer than making them; "
			 "smaller arrays (dtype uint8) are read faster");
	}
}
