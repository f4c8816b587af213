// SPDX-License-Identifier: MIT
#include "dataset/storage/remote/staged.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "dataset/storage/remote/remote.h"
#include "stage/stage.h"

#define OBJECTS_FIRST ((size_t)64)    /* a power of two */
#define OBJECTS_MAX ((size_t)1 << 18) /* more are asked for at each read */

/* The version of each object that the server told first: open addressing, key 0 is empty. */
struct staged {
	pthread_mutex_t lock;
	size_t room, count;
	struct known_object {
		uint64_t key;
		struct storage_version version;
	} * objects;
};

int staged_new(struct staged **out)
{
	struct staged *staged = calloc(1, sizeof(*staged));
	if (!staged)
		return -ENOMEM;
	pthread_mutex_init(&staged->lock, NULL); /* cannot fail on Linux */
	*out = staged;
	return 0;
}

void staged_free(struct staged *staged)
{
	if (!staged)
		return;
	pthread_mutex_destroy(&staged->lock);
	free(staged->objects);
	free(staged);
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
	if (!stage_find(use, item, max_bytes, buffer, clock_ns()))
		return false;
	stage_use_count(true);
	if (version_out)
		*version_out = version;
	return true;
}

/* From the server, and to the disk, unless it is not the version that this folder goes on with. */
static int staged_fetch(const struct remote *remote, const struct stage_use *use, const char *key,
			struct storage_range range, struct stage_item *item, uint64_t max_bytes,
			struct buffer *buffer, struct storage_version *version_out,
			struct fault *fault)
{
	struct storage_version version, known;
	int result = remote_read_range(remote, key, range, max_bytes, buffer, &version, fault);
	if (result)
		return result;
	stage_use_count(false);
	staged_put(remote->staged, key, &version);
	item->version = stage_version_of(&version);
	if (!staged_get(remote->staged, key, &known) || storage_version_equal(&known, &version))
		stage_keep(use, item, buffer, clock_ns());
	if (version_out)
		*version_out = version;
	return 0;
}

/* What is fetched at a time by one thread: who asks with other credentials is not waited for, which
 * may have expired, or be refused. */
static struct digest staged_flight(const struct remote *remote, const struct stage_item *item)
{
	struct digest flight = item->object;
	uintptr_t asker = (uintptr_t)remote->asker.own;
	for (size_t i = 0; i < sizeof(asker); i++)
		flight.bytes[i] ^= (uint8_t)(asker >> 8 * i);
	return flight;
}

int staged_read_range(const void *state, const char *key, struct storage_range range,
		      uint64_t max_bytes, struct buffer *buffer,
		      struct storage_version *version_out, struct fault *fault)
{
	const struct remote *remote = state;
	const struct stage_use *use = stage_use_now();
	struct stage *stage = use ? stage_of_set(use->set) : NULL;
	struct stage_item item;
	if (!use || staged_item(remote, stage, key, range, &item))
		return remote_read_range(state, key, range, max_bytes, buffer, version_out, fault);
	if (staged_find(remote, use, key, &item, max_bytes, buffer, version_out))
		return 0;
	const struct digest flight = staged_flight(remote, &item);
	bool first = stage_fly(stage, &flight);
	if (staged_find(remote, use, key, &item, max_bytes, buffer, version_out)) {
		if (first)
			stage_land(stage, &flight);
		return 0;
	}
	int result =
		staged_fetch(remote, use, key, range, &item, max_bytes, buffer, version_out, fault);
	if (first)
		stage_land(stage, &flight);
	return result;
}
