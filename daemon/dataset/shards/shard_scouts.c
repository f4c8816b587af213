// SPDX-License-Identifier: MIT
#include "dataset/shards/shard_scouts.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/crew.h"
#include "dataset/shards/shard_guide.h"

#define THREAD_BYTES ((uint64_t)192 << 10) /* of a scout: its walk, its connection */
#define RECORDS_BYTES ((uint64_t)32 << 20) /* of all records */
#define AHEAD 2				   /* shards that were looked at, for each thread */

struct scouted {
	struct shard_record record;
	uint64_t shard;
	uint64_t held; /* by the record; with the lock */
	bool done;
	struct shard_scouts *scouts;
};

struct shard_scouts {
	const struct shard_pass *pass;
	struct crew *crew;
	unsigned each;		 /* threads for a shard that has a guide */
	uint64_t charged, limit; /* of records */

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	bool stopped;
	uint64_t current; /* where the pass is */
	uint64_t held;	  /* by all records */
	uint64_t window;
	struct scouted *shards; /* shard % window */
};

/* -- threads of scouts ------------------------------------------------------------------------ */

static bool scouts_ended(const struct shard_scouts *scouts)
{
	return scouts->stopped || atomic_load(&scouts->pass->progress->cancel);
}

/* A record wants to grow: it waits for those before it, unless the pass waits for it. */
static bool scout_may(void *context, uint64_t bytes)
{
	struct scouted *scouted = context;
	struct shard_scouts *scouts = scouted->scouts;
	pthread_mutex_lock(&scouts->lock);
	while (!scouts_ended(scouts) && scouts->held + bytes > scouts->limit &&
	       scouted->shard != scouts->current)
		pthread_cond_wait(&scouts->changed, &scouts->lock);
	bool may = !scouts_ended(scouts) && scouted->held + bytes <= scouts->limit;
	if (may) {
		scouts->held += bytes;
		scouted->held += bytes;
	}
	pthread_mutex_unlock(&scouts->lock);
	return may;
}

static void scouted_empty(struct scouted *scouted)
{
	shard_record_deinit(&scouted->record);
	scouted->record = (struct shard_record){.may = scout_may, .context = scouted};
}

/* With the lock. */
static void scouted_hold_less(struct scouted *scouted, uint64_t bytes)
{
	scouted->held -= bytes;
	scouted->scouts->held -= bytes;
	pthread_cond_broadcast(&scouted->scouts->changed);
}

/* Fetch what the index beside it says that a walk wants. False: there is none, or it is wrong. */
static bool scout_guided(struct shard_scouts *scouts, struct scouted *scouted)
{
	const struct shard_pass *pass = scouts->pass;
	struct shard_guide guide = SHARD_GUIDE_NULL;
	struct shard_reader reader = SHARD_READER_NULL;
	struct fault unused;
	if (!scout_may(scouted, SHARD_GUIDE_BYTES))
		return false;
	bool good = shard_reader_begin(&reader, pass->folder, pass->names->names[scouted->shard],
				       &unused) == 0 &&
		    shard_guide_read(&guide, &reader, pass->roles) == 0 &&
		    shard_guide_follow(&guide, &reader, scouts->each, &scouted->record);
	scouted->record.whole = good && shard_reader_end(&reader, &unused) == 0;
	shard_guide_deinit(&guide);
	shard_reader_deinit(&reader);
	if (!good)
		scouted_empty(scouted);
	pthread_mutex_lock(&scouts->lock);
	scouted_hold_less(scouted, good ? SHARD_GUIDE_BYTES : scouted->held);
	pthread_mutex_unlock(&scouts->lock);
	return good;
}

/* Walk it as the pass does, into an index that nobody wants. */
static void scout_walk(struct shard_scouts *scouts, struct scouted *scouted)
{
	const struct shard_pass *pass = scouts->pass;
	struct dataset_progress progress = {.account = NULL};
	struct shard_names names = {.names = pass->names->names + scouted->shard, .count = 1};
	struct shard_pass walk = {.names = &names,
				  .folder = pass->folder,
				  .roles = pass->roles,
				  .spec = pass->spec,
				  .run = pass->run,
				  .progress = &progress,
				  .reader = {.into = &scouted->record}};
	struct fault unused;
	if (shard_index_new(&walk.index, "scout"))
		return;
	scouted->record.whole = walk.run(&walk, &unused) == 0 && !scouted->record.closed;
	shard_index_free(walk.index);
}

static void scout_run(void *context, uint64_t number)
{
	struct shard_scouts *scouts = context;
	struct scouted *scouted = &scouts->shards[number % scouts->window];
	pthread_mutex_lock(&scouts->lock);
	while (!scouts_ended(scouts) && number >= scouts->current + scouts->window)
		pthread_cond_wait(&scouts->changed, &scouts->lock);
	bool within = number < scouts->current + scouts->window;
	bool go = within && !scouts_ended(scouts);
	if (go)
		*scouted = (struct scouted){.shard = number,
					    .scouts = scouts,
					    .record = {.may = scout_may, .context = scouted}};
	pthread_mutex_unlock(&scouts->lock);
	if (go && !(scouts->each > 1 && scout_guided(scouts, scouted)) &&
	    scouts->pass->names->count > 1)
		scout_walk(scouts, scouted);
	pthread_mutex_lock(&scouts->lock);
	scouted->done = scouted->done || within;
	pthread_cond_broadcast(&scouts->changed);
	pthread_mutex_unlock(&scouts->lock);
}

/* -- the pass' thread ------------------------------------------------------------------------- */

/* How many threads there is memory for, which is charged: a quarter of what is free, so that the
 * pass itself has room. */
static unsigned scouts_charge(struct shard_scouts *scouts, unsigned threads)
{
	struct dataset_account *account = scouts->pass->progress->account;
	const struct dataset_account *full;
	uint64_t bytes = threads * THREAD_BYTES + RECORDS_BYTES;
	uint64_t room = account ? dataset_account_free(account) / 4 : bytes;
	bytes = bytes < room ? bytes : room;
	if (!dataset_account_take(account, bytes, false, &full))
		return 0;
	scouts->charged = bytes;
	scouts->limit = bytes / 3; /* what grows has room to grow */
	uint64_t most = (bytes - scouts->limit) / THREAD_BYTES;
	return most < threads ? (unsigned)most : threads;
}

static int scouts_begin(struct shard_scouts *scouts)
{
	unsigned all = scouts_charge(scouts, scouts->pass->folder->storage->at_once);
	uint64_t count = scouts->pass->names->count;
	unsigned threads = all < count ? all : (unsigned)count;
	if (all < 2)
		return -ENOMEM;
	scouts->each = all / threads;
	scouts->window = (uint64_t)threads * AHEAD;
	scouts->shards = calloc(scouts->window, sizeof(*scouts->shards));
	return scouts->shards ? crew_begin(&scouts->crew, threads, count, scout_run, scouts)
			      : -ENOMEM;
}

struct shard_scouts *shard_scouts_new(const struct shard_pass *pass)
{
	if (pass->folder->storage->at_once < 2 || pass->reader.into || pass->names->count == 0)
		return NULL;
	struct shard_scouts *scouts = calloc(1, sizeof(*scouts));
	if (!scouts)
		return NULL;
	scouts->pass = pass;
	pthread_mutex_init(&scouts->lock, NULL); /* these cannot fail on Linux */
	pthread_cond_init(&scouts->changed, NULL);
	if (scouts_begin(scouts)) {
		shard_scouts_free(scouts);
		return NULL;
	}
	return scouts;
}

/* With the lock. */
static void scouts_forget(struct shard_scouts *scouts, uint64_t shard)
{
	struct scouted *scouted = &scouts->shards[shard % scouts->window];
	if (scouted->scouts)
		scouted_hold_less(scouted, scouted->held);
	shard_record_deinit(&scouted->record);
	*scouted = (struct scouted){.done = false};
}

struct shard_record *shard_scouts_wait(struct shard_scouts *scouts, uint64_t shard)
{
	struct scouted *scouted = &scouts->shards[shard % scouts->window];
	pthread_mutex_lock(&scouts->lock);
	if (shard > scouts->current)
		scouts_forget(scouts, scouts->current);
	scouts->current = shard;
	pthread_cond_broadcast(&scouts->changed);
	/* Of an indexing that was cancelled scouts leave shards undone. */
	while (!scouted->done && !scouts_ended(scouts))
		pthread_cond_wait(&scouts->changed, &scouts->lock);
	pthread_mutex_unlock(&scouts->lock);
	return &scouted->record;
}

void shard_scouts_free(struct shard_scouts *scouts)
{
	pthread_mutex_lock(&scouts->lock);
	scouts->stopped = true;
	pthread_cond_broadcast(&scouts->changed);
	pthread_mutex_unlock(&scouts->lock);
	if (scouts->crew)
		crew_stop(scouts->crew);
	crew_end(scouts->crew);
	for (uint64_t i = 0; scouts->shards && i < scouts->window; i++)
		shard_record_deinit(&scouts->shards[i].record);
	dataset_account_give(scouts->pass->progress->account, scouts->charged, false);
	pthread_cond_destroy(&scouts->changed);
	pthread_mutex_destroy(&scouts->lock);
	free(scouts->shards);
	free(scouts);
}
