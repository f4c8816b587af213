// SPDX-License-Identifier: MIT
#include "dataset/shards/shard_readahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/thread_group.h"
#include "dataset/shards/shard_guide.h"

#define THREAD_BYTES ((uint64_t)192 << 10) /* of one: its walk, its connection */
#define RECORDS_BYTES ((uint64_t)32 << 20) /* of all records */
#define AHEAD 2				   /* shards that were looked at, for each thread */

struct readahead_shard {
	struct shard_record record;
	uint64_t shard;
	uint64_t held; /* by the record; with the lock */
	bool done;
	struct shard_readahead *ahead;
};

struct shard_readahead {
	const struct shard_pass *pass;
	struct thread_group *group;
	unsigned each;		 /* threads for a shard that has a guide */
	uint64_t charged, limit; /* of records */

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	bool stopped;
	uint64_t current; /* where the pass is */
	uint64_t held;	  /* by all records */
	uint64_t window;
	struct readahead_shard *shards; /* shard % window */
};

/* -- threads of ahead ------------------------------------------------------------------------ */

static bool readahead_ended(const struct shard_readahead *ahead)
{
	return ahead->stopped || atomic_load(&ahead->pass->progress->cancel);
}

/* A record wants to grow: it waits for those before it, unless the pass waits for it. */
static bool readahead_may(void *context, uint64_t bytes)
{
	struct readahead_shard *entry = context;
	struct shard_readahead *ahead = entry->ahead;
	pthread_mutex_lock(&ahead->lock);
	while (!readahead_ended(ahead) && ahead->held + bytes > ahead->limit &&
	       entry->shard != ahead->current)
		pthread_cond_wait(&ahead->changed, &ahead->lock);
	bool may = !readahead_ended(ahead) && entry->held + bytes <= ahead->limit;
	if (may) {
		ahead->held += bytes;
		entry->held += bytes;
	}
	pthread_mutex_unlock(&ahead->lock);
	return may;
}

static void readahead_empty(struct readahead_shard *entry)
{
	shard_record_deinit(&entry->record);
	entry->record = (struct shard_record){.may = readahead_may, .context = entry};
}

/* With the lock. */
static void readahead_hold_less(struct readahead_shard *entry, uint64_t bytes)
{
	entry->held -= bytes;
	entry->ahead->held -= bytes;
	pthread_cond_broadcast(&entry->ahead->changed);
}

/* Fetch what the index beside it says that a walk wants. False: there is none, or it is wrong. */
static bool readahead_guided(struct shard_readahead *ahead, struct readahead_shard *entry)
{
	const struct shard_pass *pass = ahead->pass;
	struct shard_guide guide = SHARD_GUIDE_NULL;
	struct shard_reader reader = SHARD_READER_NULL;
	struct fault unused;
	if (!readahead_may(entry, SHARD_GUIDE_BYTES))
		return false;
	bool good = shard_reader_begin(&reader, pass->folder, pass->names->names[entry->shard],
				       &unused) == 0 &&
		    shard_guide_read(&guide, &reader, pass->roles) == 0 &&
		    shard_guide_follow(&guide, &reader, ahead->each, &entry->record);
	entry->record.whole = good && shard_reader_end(&reader, &unused) == 0;
	shard_guide_deinit(&guide);
	shard_reader_deinit(&reader);
	if (!good)
		readahead_empty(entry);
	pthread_mutex_lock(&ahead->lock);
	readahead_hold_less(entry, good ? SHARD_GUIDE_BYTES : entry->held);
	pthread_mutex_unlock(&ahead->lock);
	return good;
}

/* Walk it as the pass does, into an index that nobody wants. */
static void readahead_walk(struct shard_readahead *ahead, struct readahead_shard *entry)
{
	const struct shard_pass *pass = ahead->pass;
	struct dataset_progress progress = {.account = NULL};
	struct shard_names names = {.names = pass->names->names + entry->shard, .count = 1};
	struct shard_pass walk = {.names = &names,
				  .folder = pass->folder,
				  .roles = pass->roles,
				  .spec = pass->spec,
				  .run = pass->run,
				  .progress = &progress,
				  .reader = {.into = &entry->record}};
	struct fault unused;
	if (shard_index_new(&walk.index, "readahead"))
		return;
	entry->record.whole = walk.run(&walk, &unused) == 0 && !entry->record.closed;
	shard_index_free(walk.index);
}

static void readahead_run(void *context, uint64_t number)
{
	struct shard_readahead *ahead = context;
	struct readahead_shard *entry = &ahead->shards[number % ahead->window];
	pthread_mutex_lock(&ahead->lock);
	while (!readahead_ended(ahead) && number >= ahead->current + ahead->window)
		pthread_cond_wait(&ahead->changed, &ahead->lock);
	bool within = number < ahead->current + ahead->window;
	bool go = within && !readahead_ended(ahead);
	if (go)
		*entry = (struct readahead_shard){
			.shard = number,
			.ahead = ahead,
			.record = {.may = readahead_may, .context = entry}};
	pthread_mutex_unlock(&ahead->lock);
	if (go && !(ahead->each > 1 && readahead_guided(ahead, entry)) &&
	    ahead->pass->names->count > 1)
		readahead_walk(ahead, entry);
	pthread_mutex_lock(&ahead->lock);
	entry->done = entry->done || within;
	pthread_cond_broadcast(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
}

/* -- the pass' thread ------------------------------------------------------------------------- */

/* Charge the memory of threads: a quarter of what is free, so that the pass itself has room.
 * Returns for how many it is. */
static unsigned readahead_charge(struct shard_readahead *ahead, unsigned threads)
{
	struct dataset_account *account = ahead->pass->progress->account;
	const struct dataset_account *full;
	uint64_t bytes = threads * THREAD_BYTES + RECORDS_BYTES;
	uint64_t room = account ? dataset_account_free(account) / 4 : bytes;
	bytes = bytes < room ? bytes : room;
	if (!dataset_account_take(account, bytes, false, &full))
		return 0;
	ahead->charged = bytes;
	ahead->limit = bytes / 3; /* what grows has room to grow */
	uint64_t most = (bytes - ahead->limit) / THREAD_BYTES;
	return most < threads ? (unsigned)most : threads;
}

static int readahead_begin(struct shard_readahead *ahead)
{
	unsigned all = readahead_charge(ahead, ahead->pass->folder->storage->at_once);
	uint64_t count = ahead->pass->names->count;
	unsigned threads = all < count ? all : (unsigned)count;
	if (all < 2)
		return -ENOMEM;
	ahead->each = all / threads;
	ahead->window = (uint64_t)threads * AHEAD;
	ahead->shards = calloc(ahead->window, sizeof(*ahead->shards));
	return ahead->shards
		       ? thread_group_begin(&ahead->group, threads, count, readahead_run, ahead)
		       : -ENOMEM;
}

struct shard_readahead *shard_readahead_new(const struct shard_pass *pass)
{
	if (pass->folder->storage->at_once < 2 || pass->reader.into || pass->names->count == 0)
		return NULL;
	struct shard_readahead *ahead = calloc(1, sizeof(*ahead));
	if (!ahead)
		return NULL;
	ahead->pass = pass;
	pthread_mutex_init(&ahead->lock, NULL); /* these cannot fail on Linux */
	pthread_cond_init(&ahead->changed, NULL);
	if (readahead_begin(ahead)) {
		shard_readahead_free(ahead);
		return NULL;
	}
	return ahead;
}

/* With the lock. */
static void readahead_forget(struct shard_readahead *ahead, uint64_t shard)
{
	struct readahead_shard *entry = &ahead->shards[shard % ahead->window];
	if (entry->ahead)
		readahead_hold_less(entry, entry->held);
	shard_record_deinit(&entry->record);
	*entry = (struct readahead_shard){.done = false};
}

struct shard_record *shard_readahead_wait(struct shard_readahead *ahead, uint64_t shard)
{
	struct readahead_shard *entry = &ahead->shards[shard % ahead->window];
	pthread_mutex_lock(&ahead->lock);
	if (shard > ahead->current)
		readahead_forget(ahead, ahead->current);
	ahead->current = shard;
	pthread_cond_broadcast(&ahead->changed);
	/* Of an indexing that was cancelled ahead leave shards undone. */
	while (!entry->done && !readahead_ended(ahead))
		pthread_cond_wait(&ahead->changed, &ahead->lock);
	pthread_mutex_unlock(&ahead->lock);
	return &entry->record;
}

void shard_readahead_free(struct shard_readahead *ahead)
{
	pthread_mutex_lock(&ahead->lock);
	ahead->stopped = true;
	pthread_cond_broadcast(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
	if (ahead->group)
		thread_group_stop(ahead->group);
	thread_group_end(ahead->group);
	for (uint64_t i = 0; ahead->shards && i < ahead->window; i++)
		shard_record_deinit(&ahead->shards[i].record);
	dataset_account_give(ahead->pass->progress->account, ahead->charged, false);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead->shards);
	free(ahead);
}
