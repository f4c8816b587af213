// SPDX-License-Identifier: MIT
#include "storage/remote/staged.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "stage/stage.h"
#include "storage/remote/remote.h"

#define OBJECTS_FIRST ((size_t)64)    /* a power of two */
#define RUN_BYTES ((uint64_t)1 << 20) /* what begins in such a part of an object is one request */
#define RUN_GAP 8192 /* bytes between ranges that are fetched with them; a request costs more */
#define OBJECTS_MAX ((size_t)1 << 18) /* more are asked for at each read */

/* The version of each object that the server told first: open addressing, key 0 is empty. */
struct staged {
	pthread_mutex_t gathering; /* of a run, by one thread at a time; the other lock is within */
	pthread_mutex_t lock;	   /* of what follows */
	size_t room, count;
	struct known_object {
		uint64_t key;
		struct storage_version version;
	} * objects;
};

int staged_open(void **state_out, const struct storage_place *place, struct fault *fault)
{
	struct staged *staged = calloc(1, sizeof(*staged));
	int result = staged ? remote_open(state_out, place, fault) : -ENOMEM;
	if (result) {
		free(staged);
		return result;
	}
	pthread_mutex_init(&staged->gathering, NULL); /* cannot fail on Linux */
	pthread_mutex_init(&staged->lock, NULL);
	((struct remote *)*state_out)->staged = staged;
	return 0;
}

void staged_close(void *state)
{
	struct staged *staged = ((struct remote *)state)->staged;
	pthread_mutex_destroy(&staged->gathering);
	pthread_mutex_destroy(&staged->lock);
	free(staged->objects);
	free(staged);
	remote_close(state);
}

/* -- versions --------------------------------------------------------------------------------- */

static uint64_t key_of(const char *key)
{
	struct digest digest = digest_of(key, strlen(key));
	uint64_t number;
	memcpy(&number, digest.bytes, sizeof(number));
	return number ? number : 1;
}

static struct known_object *staged_slot(const struct staged *staged, uint64_t key)
{
	size_t at = (size_t)key & (staged->room - 1);
	while (staged->objects[at].key && staged->objects[at].key != key)
		at = (at + 1) & (staged->room - 1);
	return &staged->objects[at];
}

/* False: there is no memory for more. */
static bool staged_grow(struct staged *staged)
{
	struct staged larger = {.room = staged->room ? 2 * staged->room : OBJECTS_FIRST};
	if (2 * staged->count < staged->room)
		return true;
	if (staged->count >= OBJECTS_MAX)
		return false;
	larger.objects = calloc(larger.room, sizeof(*larger.objects));
	if (!larger.objects)
		return false;
	for (size_t i = 0; i < staged->room; i++)
		if (staged->objects[i].key)
			*staged_slot(&larger, staged->objects[i].key) = staged->objects[i];
	free(staged->objects);
	staged->objects = larger.objects;
	staged->room = larger.room;
	return true;
}

/* The one that is known, or this one from now on. */
static void staged_put(struct staged *staged, const char *key,
		       const struct storage_version *version)
{
	uint64_t number = key_of(key);
	pthread_mutex_lock(&staged->lock);
	if (staged_grow(staged)) {
		struct known_object *object = staged_slot(staged, number);
		if (!object->key) {
			*object = (struct known_object){number, *version};
			staged->count++;
		}
	}
	pthread_mutex_unlock(&staged->lock);
}

static bool staged_get(struct staged *staged, const char *key, struct storage_version *out)
{
	uint64_t number = key_of(key);
	pthread_mutex_lock(&staged->lock);
	const struct known_object *object = staged->room ? staged_slot(staged, number) : NULL;
	bool known = object && object->key;
	if (known)
		*out = object->version;
	pthread_mutex_unlock(&staged->lock);
	return known;
}

int staged_version(const void *state, const char *key, struct storage_version *out,
		   struct fault *fault)
{
	const struct remote *remote = state;
	if (stage_use_now() && staged_get(remote->staged, key, out))
		return 0;
	int result = remote_version(state, key, out, fault);
	if (!result)
		staged_put(remote->staged, key, out);
	return result;
}

/* -- reading ---------------------------------------------------------------------------------- */

static int staged_item(const struct remote *remote, const struct stage *stage, const char *key,
		       struct storage_range range, struct stage_item *out)
{
	char path[REMOTE_KEY_MAX + 1];
	if (!remote_path(remote, key, path))
		return STORAGE_E_READ;
	size_t root = strlen(remote->root);
	char *url = malloc(root + REMOTE_KEY_MAX + 1);
	if (!url)
		return -ENOMEM;
	memcpy(url, remote->root, root);
	strcpy(url + root, path);
	int result = stage_name(stage, url, range.offset, range.length, &out->object);
	strcpy(url + root, remote->prefix);
	result = result ? result : stage_name(stage, url, 0, 0, &out->origin);
	free(url);
	return result;
}

static struct stage_version stage_version_of(const struct storage_version *version)
{
	return (struct stage_version){{version->device, version->inode, version->size,
				       (uint64_t)version->mtime_ns, (uint64_t)version->ctime_ns}};
}

/* The version that counts here, if anything of the object may be kept. */
static bool staged_known(const struct remote *remote, const struct stage_use *use, const char *key,
			 const struct stage_item *item, struct storage_version *out)
{
	struct fault unused;
	return staged_get(remote->staged, key, out) ||
	       (stage_has(stage_of_set(use->set), &item->object) &&
		staged_version(remote, key, out, &unused) == 0);
}

static bool staged_find(const struct remote *remote, const struct stage_use *use, const char *key,
			struct stage_item *item, uint64_t max_bytes, struct buffer *buffer,
			struct storage_version *version_out)
{
	struct storage_version version;
	if (!staged_known(remote, use, key, item, &version))
		return false;
	item->version = stage_version_of(&version);
	enum stage_found found = stage_find(use, item, max_bytes, buffer, clock_ns());
	if (found == STAGE_NONE)
		return false;
	stage_use_count(found == STAGE_KEPT);
	if (version_out)
		*version_out = version;
	return true;
}

/* Name of a fetch that one thread makes for all. It has the credentials in it: who asks with others
 * does not wait for these, which may have expired, or be refused. */
static struct digest staged_fetch_name(const struct remote *remote, const struct stage_item *item)
{
	struct digest fetch = item->object;
	uintptr_t asker = (uintptr_t)remote->asker.own;
	for (size_t i = 0; i < sizeof(asker); i++)
		fetch.bytes[i] ^= (uint8_t)(asker >> 8 * i);
	return fetch;
}

/* -- fetching --------------------------------------------------------------------------------- */

/* Ranges beside the wanted one that are read soon, so that one request brings them along. */
struct run {
	const struct remote *remote;
	const char *key;
	struct storage_range range; /* all of it */
	uint64_t max_bytes;	    /* of one of them */
	unsigned count;		    /* of those beside */
	struct run_part {
		struct storage_range range;
		struct stage_use use;
		struct stage_item item;
	} part[STAGE_BESIDE_MAX];
};

/* Does it lie in the same part of the object, not far from the run's end or start? */
static bool run_reaches(const struct run *run, const struct storage_range *range)
{
	uint64_t begin = run->range.offset, end = begin + run->range.length;
	uint64_t other = range->offset + range->length;
	uint64_t first = begin < range->offset ? begin : range->offset;
	bool after = range->offset >= end && range->offset - end <= RUN_GAP;
	bool before = other <= begin && begin - other <= RUN_GAP;
	return (after || before) && range->length <= run->max_bytes &&
	       range->offset / RUN_BYTES == begin / RUN_BYTES &&
	       (end > other ? end : other) - first <= 2 * RUN_BYTES;
}

/* Take it along, unless it is not needed soon, is kept or being fetched, or there is no room. */
static bool run_add(struct run *run, const struct stage_beside *beside, unsigned at)
{
	const struct stage_use *now = stage_use_now();
	struct stage *stage = stage_of_set(now->set);
	struct run_part *part = &run->part[run->count];
	part->range = (struct storage_range){beside->range[at].offset, beside->range[at].length};
	part->use = (struct stage_use){now->set, beside->sample + at, NULL};
	if (!part->range.length || !run_reaches(run, &part->range) ||
	    !courses_near(stage_set_courses(now->set), part->use.sample) ||
	    staged_item(run->remote, stage, run->key, part->range, &part->item))
		return false;
	const struct digest fetch = staged_fetch_name(run->remote, &part->item);
	if (!stage_claim_fetch_ahead(stage, &fetch))
		return false;
	if (!stage_book_ahead(&part->use, &part->item, part->range.length, clock_ns())) {
		stage_end_fetch(stage, &fetch);
		return false;
	}
	uint64_t end = run->range.offset + run->range.length;
	uint64_t other = part->range.offset + part->range.length;
	if (part->range.offset < run->range.offset)
		run->range.offset = part->range.offset;
	run->range.length = (end > other ? end : other) - run->range.offset;
	run->count++;
	return true;
}

/* Both ways from the range that is read now, as far as each next one is wanted. */
static void run_gather(struct run *run, const struct stage_use *use)
{
	const struct stage_beside *beside = use->beside;
	if (!beside || beside->range[beside->own].offset != run->range.offset ||
	    beside->range[beside->own].length != run->range.length ||
	    run->range.length > run->max_bytes)
		return;
	for (unsigned at = beside->own + 1; at < beside->count && run_add(run, beside, at); at++)
		;
	for (unsigned at = beside->own; at-- > 0 && run_add(run, beside, at);)
		;
}

/* End the fetch of the parts: `whole` has the run's bytes, or is NULL: they are not kept. */
static void run_end(struct run *run, const struct buffer *whole,
		    const struct storage_version *version)
{
	for (unsigned i = 0; i < run->count; i++) {
		struct run_part *part = &run->part[i];
		struct buffer bytes = {.size = part->range.length};
		const struct digest fetch = staged_fetch_name(run->remote, &part->item);
		if (whole) {
			bytes.data = whole->data + (part->range.offset - run->range.offset);
			part->item.version = stage_version_of(version);
		}
		stage_keep_ahead(&part->use, &part->item, part->range.length, whole ? &bytes : NULL,
				 clock_ns());
		stage_end_fetch(stage_of_set(part->use.set), &fetch);
	}
	run->count = 0;
}

/* By one request for the run; the range's own bytes are in `buffer` then. */
static int run_read(struct run *run, struct storage_range range, struct buffer *buffer,
		    struct buffer *whole, struct storage_version *version, struct fault *fault)
{
	uint64_t most = run->range.length > run->max_bytes ? run->range.length : run->max_bytes;
	int result = remote_read_range(run->remote, run->key, run->range, most,
				       run->count ? whole : buffer, version, fault);
	if (!result && run->count)
		result = buffer_reserve(buffer, range.length);
	if (!result && run->count) {
		memcpy(buffer->data, whole->data + (range.offset - run->range.offset),
		       range.length);
		buffer->size = range.length;
	}
	return result;
}

/* From the server, and to the disk, unless it is not the version that this folder goes on with. */
static int staged_fetch(struct run *run, const struct stage_use *use, struct storage_range range,
			struct stage_item *item, struct buffer *buffer,
			struct storage_version *version_out, struct fault *fault)
{
	struct staged *staged = run->remote->staged;
	struct storage_version version, known;
	struct buffer whole = BUFFER_NULL;
	int result = run_read(run, range, buffer, &whole, &version, fault);
	bool kept = false;
	if (!result) {
		stage_use_count(false);
		staged_put(staged, run->key, &version);
		kept = !staged_get(staged, run->key, &known) ||
		       storage_version_equal(&known, &version);
		item->version = stage_version_of(&version);
		if (version_out)
			*version_out = version;
	}
	if (kept)
		stage_keep(use, item, buffer, clock_ns());
	run_end(run, kept ? &whole : NULL, &version);
	buffer_deinit(&whole);
	return result;
}

/* True: the caller fetches the range, and what `run` has. Others who want any of it at the same
 * time see all of that under way. */
static bool staged_begin(struct staged *staged, const struct stage_use *use,
			 const struct stage_item *item, const struct digest *fetch, struct run *run)
{
	struct stage *stage = stage_of_set(use->set);
	pthread_mutex_lock(&staged->gathering);
	bool first = stage_claim_fetch_ahead(stage, fetch);
	if (first && !stage_has(stage, &item->object))
		run_gather(run, use);
	pthread_mutex_unlock(&staged->gathering);
	return first || stage_claim_fetch(stage, fetch);
}

int staged_read_range(const void *state, const char *key, struct storage_range range,
		      uint64_t max_bytes, struct buffer *buffer,
		      struct storage_version *version_out, struct fault *fault)
{
	const struct remote *remote = state;
	const struct stage_use *use = stage_use_now();
	struct stage *stage = use ? stage_of_set(use->set) : NULL;
	struct run run = {.remote = remote, .key = key, .range = range, .max_bytes = max_bytes};
	struct stage_item item;
	int result = 0;
	if (!use || staged_item(remote, stage, key, range, &item))
		return remote_read_range(state, key, range, max_bytes, buffer, version_out, fault);
	if (staged_find(remote, use, key, &item, max_bytes, buffer, version_out))
		return 0;
	const struct digest fetch = staged_fetch_name(remote, &item);
	bool first = staged_begin(remote->staged, use, &item, &fetch, &run);
	if (staged_find(remote, use, key, &item, max_bytes, buffer, version_out))
		run_end(&run, NULL, NULL);
	else
		result = staged_fetch(&run, use, range, &item, buffer, version_out, fault);
	if (first)
		stage_end_fetch(stage, &fetch);
	return result;
}
