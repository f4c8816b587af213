// SPDX-License-Identifier: MIT
#include "storage/slow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "stage/stage.h"
#include "storage/local.h"

#define AT_ONCE 64 /* hides some milliseconds each */

struct slow {
	void *local; /* the state of the storage below */
	char *path;  /* owned: of the folder */
};

/* -- whose files ------------------------------------------------------------------------------ */

static struct {
	char **paths; /* owned */
	size_t count, capacity;
} roots;

int slow_add_root(const char *path)
{
	char *copy = strdup(path);
	if (!copy || ARRAY_RESERVE(roots.paths, roots.capacity, roots.count + 1)) {
		free(copy);
		return -ENOMEM;
	}
	storage_local.tidy(copy);
	roots.paths[roots.count++] = copy;
	return 0;
}

void slow_forget_roots(void)
{
	while (roots.count)
		free(roots.paths[--roots.count]);
	free(roots.paths);
	roots.paths = NULL;
	roots.capacity = 0;
}

static bool slow_accepts(const char *path)
{
	for (size_t i = 0; i < roots.count; i++) {
		const char *root = roots.paths[i];
		size_t size = strcmp(root, "/") == 0 ? 0 : strlen(root);
		if (strncmp(path, root, size) == 0 && (path[size] == '/' || !path[size]))
			return true;
	}
	return false;
}

/* -- as the storage below --------------------------------------------------------------------- */

static void slow_tidy(char *path)
{
	storage_local.tidy(path);
}

static const char *slow_refuse(const char *path)
{
	return storage_local.refuse(path);
}

static int slow_look(const struct storage_place *place, bool *folder_out)
{
	return storage_local.look(place, folder_out);
}

static int slow_open_file(const struct storage_place *place, int *fd_out,
			  struct storage_version *version_out, struct fault *fault)
{
	return storage_local.open_file(place, fd_out, version_out, fault);
}

static int slow_open(void **state_out, const struct storage_place *place, struct fault *fault)
{
	struct slow *slow = calloc(1, sizeof(*slow));
	char *path = strdup(place->path);
	int result = slow && path ? storage_local.open(&slow->local, place, fault) : -ENOMEM;
	if (result) {
		free(path);
		free(slow);
		return result;
	}
	slow->path = path;
	*state_out = slow;
	return 0;
}

static void slow_close(void *state)
{
	struct slow *slow = state;
	storage_local.close(slow->local);
	free(slow->path);
	free(slow);
}

static int slow_list(const void *state, const char *folder, const struct storage_taker *taker,
		     struct fault *fault)
{
	const struct slow *slow = state;
	return storage_local.list(slow->local, folder, taker, fault);
}

static int slow_identify(const void *state, const char *folder, struct storage_version *out,
			 struct fault *fault)
{
	const struct slow *slow = state;
	return storage_local.identify(slow->local, folder, out, fault);
}

static int slow_version(const void *state, const char *key, struct storage_version *out,
			struct fault *fault)
{
	const struct slow *slow = state;
	return storage_local.version(slow->local, key, out, fault);
}

/* -- reading ---------------------------------------------------------------------------------- */

static struct stage_version stage_version_of(const struct storage_version *version)
{
	return (struct stage_version){{version->device, version->inode, version->size,
				       (uint64_t)version->mtime_ns, (uint64_t)version->ctime_ns}};
}

/* A file has one item for each version and range. 0 or -ENOMEM. */
static int slow_item(const struct slow *slow, const struct stage *stage, const char *key,
		     struct storage_range range, struct stage_item *out)
{
	char *text;
	if (asprintf(&text, "%s/%s", slow->path, key) < 0)
		return -ENOMEM;
	int result = stage_name(stage, text, range.offset, range.length, &out->object);
	result = result ? result : stage_name(stage, slow->path, 0, 0, &out->origin);
	free(text);
	return result;
}

static bool slow_find(const struct slow *slow, const struct stage_use *use, const char *key,
		      struct stage_item *item, uint64_t max_bytes, struct buffer *buffer,
		      struct storage_version *version_out)
{
	struct storage_version version;
	struct fault unused; /* who reads it then has the words */
	if (!stage_has(stage_of_set(use->set), &item->object) ||
	    slow_version(slow, key, &version, &unused))
		return false;
	item->version = stage_version_of(&version);
	if (!stage_find(use, item, max_bytes, buffer, clock_ns()))
		return false;
	stage_use_count(true);
	if (version_out)
		*version_out = version;
	return true;
}

static int slow_fetch(const struct slow *slow, const struct stage_use *use, const char *key,
		      struct storage_range range, struct stage_item *item, uint64_t max_bytes,
		      struct buffer *buffer, struct storage_version *version_out,
		      struct fault *fault)
{
	struct storage_version version;
	int result = storage_local.read_range(slow->local, key, range, max_bytes, buffer, &version,
					      fault);
	if (result)
		return result;
	stage_use_count(false);
	item->version = stage_version_of(&version);
	stage_keep(use, item, buffer, clock_ns());
	if (version_out)
		*version_out = version;
	return 0;
}

/* Read a range; what several want is fetched by one of them. */
static int slow_read_range(const void *state, const char *key, struct storage_range range,
			   uint64_t max_bytes, struct buffer *buffer,
			   struct storage_version *version_out, struct fault *fault)
{
	const struct slow *slow = state;
	const struct stage_use *use = stage_use_now();
	struct stage *stage = use ? stage_of_set(use->set) : NULL;
	struct stage_item item;
	if (!use || slow_item(slow, stage, key, range, &item))
		return storage_local.read_range(slow->local, key, range, max_bytes, buffer,
						version_out, fault);
	if (slow_find(slow, use, key, &item, max_bytes, buffer, version_out))
		return 0;
	bool first = stage_claim_fetch(stage, &item.object);
	bool found = slow_find(slow, use, key, &item, max_bytes, buffer, version_out);
	int result = found ? 0
			   : slow_fetch(slow, use, key, range, &item, max_bytes, buffer,
					version_out, fault);
	if (first)
		stage_end_fetch(stage, &item.object);
	return result;
}

const struct storage storage_slow = {
	.name = "slow",
	.at_once = AT_ONCE,
	.accepts = slow_accepts,
	.tidy = slow_tidy,
	.refuse = slow_refuse,
	.look = slow_look,
	.open_file = slow_open_file,
	.open = slow_open,
	.close = slow_close,
	.read_range = slow_read_range,
	.list = slow_list,
	.identify = slow_identify,
	.version = slow_version,
};
