// SPDX-License-Identifier: MIT
#include "cache/picture_cache.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cache/eviction.h"
#include "cache/picture_set.h"

#define LARGEST_PART 16 /* of the budget, that one picture may take */

enum { USED = 1, NOT_WHOLE = 2, NOT_REWRITTEN = 4 }; /* what is known of a sample */

void picture_cache_init(struct picture_cache *cache, uint64_t limit)
{
	*cache = (struct picture_cache){0};
	atomic_init(&cache->limit, limit);
	pthread_mutex_init(&cache->lock, NULL); /* cannot fail on Linux */
	list_init(&cache->sets);
	picture_owners_init(&cache->owners);
	page_stock_init(&cache->stock);
}

void picture_cache_deinit(struct picture_cache *cache)
{
	picture_cache_trim(cache);
	assert(list_empty(&cache->sets));
	page_stock_deinit(&cache->stock);
	pthread_mutex_destroy(&cache->lock);
}

void picture_cache_set_limit(struct picture_cache *cache, uint64_t limit)
{
	atomic_store(&cache->limit, limit);
}

/* Rest of the budget. */
static uint64_t picture_cache_room(const struct picture_cache *cache)
{
	uint64_t limit = atomic_load(&cache->limit), bytes = atomic_load(&cache->bytes);
	return bytes < limit ? limit - bytes : 0;
}

static size_t picture_size(const struct cached_picture *picture)
{
	return picture->memory.capacity + BUFFER_SLACK;
}

static void picture_free(struct cached_picture *picture)
{
	struct picture_cache *cache = picture->set->cache;
	size_t size = picture_size(picture);
	/* To unmap splits a mapping, and the system has a limit of mappings. */
	if (munmap(picture->memory.data, size) < 0)
		madvise(picture->memory.data, size, MADV_DONTNEED);
	atomic_fetch_sub(&cache->bytes, size);
	free(picture);
}

/* --- with the lock held --- */

/* Count one that can be found from now on, or that can no more. */
static void picture_count(const struct cached_picture *picture, int by)
{
	struct picture_cache *cache = picture->set->cache;
	struct picture_totals *totals = &picture->set->totals;
	atomic_fetch_add(picture->key.file ? &cache->files : &cache->pictures, (uint64_t)by);
	*(picture->key.file ? &totals->files : &totals->pictures) += (uint64_t)by;
	totals->bytes += (uint64_t)by * picture_size(picture);
	picture->set->owner->bytes += (uint64_t)by * picture_size(picture);
	if (by < 0 && picture->set->dropped > 0)
		picture->set->dropped--;
}

/* Nobody finds it any more. True: nobody uses it, either. */
static bool picture_drop(struct cached_picture *picture)
{
	_Atomic(struct cached_picture *) *slot = &picture->set->first[picture->key.sample];
	struct cached_picture *before = atomic_load(slot);
	if (before == picture) {
		atomic_store(slot, picture->next);
	} else {
		while (before->next != picture)
			before = before->next;
		before->next = picture->next;
	}
	list_remove(&picture->link);
	victims_remove(&picture->set->owner->victims, &picture->victim);
	picture_count(picture, -1);
	return picture->pins == 0;
}

/* With `any`, pixels at whatever scale. */
static struct cached_picture *picture_set_look(struct picture_set *set,
					       const struct picture_key *key, bool any)
{
	struct cached_picture *picture = atomic_load(&set->first[key->sample]);
	while (picture &&
	       !(stamp_equal(&picture->key.stamp, &key->stamp) && picture->key.exif == key->exif &&
		 picture->key.file == (key->file && !any) &&
		 (any || key->file || picture->key.scale == key->scale)))
		picture = picture->next;
	return picture;
}

/* --- the cache --- */

static void picture_set_free(struct picture_set *set)
{
	courses_deinit(&set->courses);
	free(set->first);
	free(set->uses);
	free(set);
}

void picture_cache_trim(struct picture_cache *cache)
{
	struct cached_picture *leaving;
	struct list closed;
	list_init(&closed);
	page_stock_note(&cache->stock, picture_cache_room(cache));
	pthread_mutex_lock(&cache->lock);
	while ((leaving = eviction_next(cache))) {
		bool unused = picture_drop(leaving);
		pthread_mutex_unlock(&cache->lock);
		if (unused)
			picture_free(leaving);
		pthread_mutex_lock(&cache->lock);
	}
	list_for_each(set, next, &cache->sets, struct picture_set, link) {
		if (!set->closed)
			continue;
		list_remove(&set->link);
		list_append(&closed, &set->link);
		picture_owner_put(&cache->owners, set->owner);
	}
	pthread_mutex_unlock(&cache->lock);
	list_for_each(set, next, &closed, struct picture_set, link)
		picture_set_free(set);
}

/* --- a set --- */

int picture_set_new(struct picture_set **out, struct picture_cache *cache, unsigned user,
		    uint64_t samples)
{
	struct picture_set *set = calloc(1, sizeof(*set));
	if (!set)
		return -ENOMEM;
	set->cache = cache;
	set->samples = samples;
	set->users = 1;
	list_init(&set->pictures);
	courses_init(&set->courses);
	set->first = calloc(samples, sizeof(*set->first));
	set->uses = calloc(samples, sizeof(*set->uses));
	if (!set->first || !set->uses) {
		picture_set_free(set);
		return -ENOMEM;
	}
	pthread_mutex_lock(&cache->lock);
	set->owner = picture_owner_get(&cache->owners, user);
	if (set->owner)
		list_append(&cache->sets, &set->link);
	pthread_mutex_unlock(&cache->lock);
	if (!set->owner) {
		picture_set_free(set);
		return -ENOMEM;
	}
	atomic_fetch_add(&cache->samples, samples);
	atomic_fetch_add(&set->owner->samples, samples);
	*out = set;
	return 0;
}

struct picture_set *picture_set_hold(struct picture_set *set)
{
	if (!set)
		return NULL;
	pthread_mutex_lock(&set->cache->lock);
	set->users++;
	pthread_mutex_unlock(&set->cache->lock);
	return set;
}

void picture_set_close(struct picture_set *set)
{
	struct picture_cache *cache = set->cache;
	pthread_mutex_lock(&cache->lock);
	set->closed = --set->users == 0;
	if (set->closed) {
		atomic_fetch_sub(&cache->samples, set->samples);
		atomic_fetch_sub(&set->owner->samples, set->samples);
	}
	pthread_mutex_unlock(&cache->lock);
}

void picture_set_drop(struct picture_set *set)
{
	pthread_mutex_lock(&set->cache->lock);
	set->dropped = set->totals.pictures + set->totals.files;
	pthread_mutex_unlock(&set->cache->lock);
}

bool picture_set_has(const struct picture_set *set, uint64_t sample)
{
	assert(sample < set->samples);
	return atomic_load_explicit(&set->first[sample], memory_order_relaxed);
}

struct cached_picture *picture_set_find(struct picture_set *set, const struct picture_key *key,
					bool any)
{
	struct picture_cache *cache = set->cache;
	struct picture_key file = *key;
	file.file = true;
	assert(key->sample < set->samples);
	pthread_mutex_lock(&cache->lock);
	struct cached_picture *picture = picture_set_look(set, key, any);
	if (!picture && any)
		picture = picture_set_look(set, &file, false);
	if (picture)
		picture->pins++;
	pthread_mutex_unlock(&cache->lock);
	return picture;
}

void picture_hit(struct cached_picture *picture, uint64_t now_ns)
{
	struct picture_cache *cache = picture->set->cache;
	struct forecast forecast =
		forecast_make(&picture->set->courses, picture->key.sample, now_ns);
	pthread_mutex_lock(&cache->lock);
	victims_move(&picture->set->owner->victims, &picture->victim, forecast_first(&forecast));
	picture->set->totals.hits++;
	pthread_mutex_unlock(&cache->lock);
	atomic_fetch_add_explicit(picture->key.file ? &cache->file_hits : &cache->hits, 1,
				  memory_order_relaxed);
}

void picture_unpin(struct cached_picture *picture)
{
	if (!picture)
		return;
	struct picture_cache *cache = picture->set->cache;
	pthread_mutex_lock(&cache->lock);
	assert(picture->pins > 0);
	bool unused = --picture->pins == 0 && list_empty(&picture->link);
	pthread_mutex_unlock(&cache->lock);
	if (unused)
		picture_free(picture);
}

struct courses *picture_set_courses(struct picture_set *set)
{
	return &set->courses;
}

struct picture_totals picture_set_totals(struct picture_set *set)
{
	pthread_mutex_lock(&set->cache->lock);
	struct picture_totals totals = set->totals;
	pthread_mutex_unlock(&set->cache->lock);
	return totals;
}

/* Is it among the quarter that is kept at the first use? Evenly so among neighbours, and among
 * every n-th of them: the multiplier is 2^64 by the golden ratio. */
static bool sample_is_early(uint64_t sample)
{
	return sample * UINT64_C(0x9E3779B97F4A7C15) < UINT64_MAX / 4;
}

struct picture_use picture_set_use(struct picture_set *set, uint64_t sample, bool idle,
				   uint64_t now_ns)
{
	struct picture_use use = {.idle = idle, .now_ns = now_ns};
	assert(sample < set->samples);
	use.keep = (atomic_fetch_or(&set->uses[sample], USED) & USED) || idle ||
		   sample_is_early(sample);
	if (use.keep)
		use.forecast = forecast_make(&set->courses, sample, now_ns);
	return use;
}

bool picture_set_is_on(const struct picture_set *set)
{
	return atomic_load(&set->cache->limit) > 0;
}

bool picture_set_affords(const struct picture_set *set, size_t bytes)
{
	const struct picture_cache *cache = set->cache;
	return bytes <= atomic_load(&cache->limit) / atomic_load(&cache->owners.count) /
				(atomic_load(&set->owner->samples) + 1);
}

/* Would enough give way to so many bytes? Else nothing is to go for them. With more than a trial
 * takes it is assumed. The lock is held. */
static bool picture_set_displaces(struct picture_set *set, size_t size, enum picture_worth worth,
				  const struct picture_use *use)
{
	struct picture_cache *cache = set->cache;
	uint64_t limit = atomic_load(&cache->limit), bytes = atomic_load(&cache->bytes) + size;
	struct victims_trial trial = {.count = 0};
	struct cached_picture *worst;
	while (bytes > limit && (worst = eviction_for(set, size, worth, use)) &&
	       victims_try(&trial, &worst->set->owner->victims, &worst->victim)) {
		worst->set->owner->bytes -= picture_size(worst);
		bytes -= picture_size(worst);
	}
	bool enough = bytes <= limit || trial.count == VICTIMS_TRIED_MAX;
	for (unsigned i = 0; i < trial.count; i++) {
		worst = list_entry(trial.victim[i], struct cached_picture, victim);
		worst->set->owner->bytes += picture_size(worst);
	}
	victims_try_end(&trial);
	return enough;
}

bool picture_set_has_room(struct picture_set *set, size_t bytes, enum picture_worth worth,
			  const struct picture_use *use)
{
	struct picture_cache *cache = set->cache;
	uint64_t limit = atomic_load(&cache->limit);
	pthread_mutex_lock(&cache->lock);
	bool room = picture_set_displaces(set, bytes, worth, use);
	pthread_mutex_unlock(&cache->lock);
	return room && bytes <= limit / LARGEST_PART;
}

/* Drop what is less worth keeping than so many bytes of this set, if that makes room for them. */
static void picture_set_replace(struct picture_set *set, size_t size, enum picture_worth worth,
				const struct picture_use *use)
{
	struct picture_cache *cache = set->cache;
	struct cached_picture *dropped = NULL, *worst;
	uint64_t freed = 0, limit = atomic_load(&cache->limit);
	pthread_mutex_lock(&cache->lock);
	bool enough = picture_set_displaces(set, size, worth, use);
	while (enough && atomic_load(&cache->bytes) + size > limit + freed &&
	       (worst = eviction_for(set, size, worth, use))) {
		picture_drop(worst);
		freed += picture_size(worst);
		worst->next = dropped;
		dropped = worst;
	}
	pthread_mutex_unlock(&cache->lock);
	while ((worst = dropped)) {
		dropped = worst->next;
		atomic_fetch_add_explicit(&cache->replaced, 1, memory_order_relaxed);
		picture_free(worst);
	}
}

/* Charge it; false if there is no room. */
static bool picture_set_charge(struct picture_set *set, size_t size, enum picture_worth worth,
			       const struct picture_use *use)
{
	struct picture_cache *cache = set->cache;
	uint64_t limit = atomic_load(&cache->limit);
	if (size <= limit / LARGEST_PART) {
		if (atomic_load(&cache->bytes) + size > limit)
			picture_set_replace(set, size, worth, use);
		if (atomic_fetch_add(&cache->bytes, size) + size <= limit)
			return true;
		atomic_fetch_sub(&cache->bytes, size);
	}
	atomic_fetch_add_explicit(&cache->full, 1, memory_order_relaxed);
	return false;
}

/* Room for so many bytes. */
static struct cached_picture *picture_set_make(struct picture_set *set,
					       const struct picture_key *key, size_t bytes,
					       enum picture_worth worth,
					       const struct picture_use *use)
{
	struct picture_cache *cache = set->cache;
	assert(key->sample < set->samples);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (bytes + BUFFER_SLACK + page - 1) / page * page;
	pthread_mutex_lock(&cache->lock);
	bool there = picture_set_look(set, key, false);
	pthread_mutex_unlock(&cache->lock);
	if (there || !picture_set_charge(set, size, worth, use))
		return NULL;
	struct cached_picture *picture = calloc(1, sizeof(*picture));
	void *memory =
		picture ? page_stock_get(&cache->stock, size, picture_cache_room(cache)) : NULL;
	if (!memory) {
		free(picture);
		atomic_fetch_sub(&cache->bytes, size);
		return NULL;
	}
	*picture = (struct cached_picture){.key = *key, .set = set, .pins = 1};
	picture->victim = (struct victim){worth, forecast_first(&use->forecast), VICTIM_NOWHERE};
	picture->memory = (struct buffer){.data = memory, .capacity = size - BUFFER_SLACK};
	list_init(&picture->link);
	return picture;
}

struct cached_picture *picture_set_take(struct picture_set *set, const struct picture_key *key,
					int32_t width, int32_t height, enum picture_worth worth,
					const struct picture_use *use)
{
	assert(!key->file && key->scale > 0 && key->sample < set->samples);
	if (!picture_set_wants_whole(set, key->sample))
		return NULL;
	size_t columns = ((size_t)width + key->scale - 1) / key->scale;
	size_t rows = ((size_t)height + key->scale - 1) / key->scale;
	struct cached_picture *picture = picture_set_make(set, key, 3 * columns * rows, worth, use);
	if (picture) {
		picture->width = width;
		picture->height = height;
	}
	return picture;
}

struct cached_picture *picture_set_take_file(struct picture_set *set, const struct picture_key *key,
					     size_t bytes, const struct picture_use *use)
{
	assert(key->file);
	struct cached_picture *picture = picture_set_make(set, key, bytes, PICTURE_FILE, use);
	if (picture)
		picture->memory.size = bytes;
	return picture;
}

void picture_set_keep(struct cached_picture *picture)
{
	struct picture_set *set = picture->set;
	struct picture_cache *cache = set->cache;
	picture->image.cold = true;
	pthread_mutex_lock(&cache->lock);
	/* Another thread may have been quicker. Then this one is freed with its pin. */
	if (!picture_set_look(set, &picture->key, false)) {
		picture->next = atomic_load(&set->first[picture->key.sample]);
		atomic_store(&set->first[picture->key.sample], picture);
		list_append(&set->pictures, &picture->link);
		(void)victims_add(&set->owner->victims, &picture->victim); /* else it stays */
		picture_count(picture, 1);
		atomic_fetch_add_explicit(&cache->fills, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&cache->lock);
}

void picture_set_refuse(struct picture_set *set, uint64_t sample)
{
	atomic_fetch_or(&set->uses[sample], NOT_WHOLE);
}

bool picture_set_wants_whole(const struct picture_set *set, uint64_t sample)
{
	return !(atomic_load(&set->uses[sample]) & NOT_WHOLE);
}

void picture_set_refuse_file(struct picture_set *set, uint64_t sample)
{
	atomic_fetch_or(&set->uses[sample], NOT_REWRITTEN);
}

bool picture_set_wants_file(const struct picture_set *set, uint64_t sample)
{
	return !(atomic_load(&set->uses[sample]) & NOT_REWRITTEN);
}

void picture_set_forget(struct picture_set *set, uint64_t sample)
{
	struct picture_cache *cache = set->cache;
	struct cached_picture *unused = NULL, *picture;
	assert(sample < set->samples);
	pthread_mutex_lock(&cache->lock);
	while ((picture = atomic_load(&set->first[sample]))) {
		if (!picture_drop(picture))
			continue;
		picture->next = unused;
		unused = picture;
	}
	pthread_mutex_unlock(&cache->lock);
	while ((picture = unused)) {
		unused = picture->next;
		picture_free(picture);
	}
}

unsigned picture_set_user(const struct picture_set *set)
{
	return set->owner->user;
}

uint64_t picture_set_samples(const struct picture_set *set)
{
	return set->samples;
}
