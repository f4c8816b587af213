// SPDX-License-Identifier: MIT
#include "dataset/sources.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dataset/folder_watch.h"
#include "dataset/kind.h"
#include "dataset/shards/shard_names.h"
#include "storage/local_watch.h"
#include "storage/storage.h"

/* In front of each text. */
struct source_head {
	uint64_t mark;
	uint32_t kind;
	uint32_t size; /* of the text, with its end */
};

void sources_add_mark(struct sources *sources, enum source_kind kind, const char *text,
		      uint64_t mark)
{
	if (!sources || sources->lost)
		return;
	const struct source_head head = {mark, kind, (uint32_t)strlen(text) + 1};
	uint64_t size = sources->size + sizeof(head) + head.size;
	if (ARRAY_RESERVE(sources->data, sources->capacity, size)) {
		sources->lost = true;
		return;
	}
	memcpy(sources->data + sources->size, &head, sizeof(head));
	memcpy(sources->data + sources->size + sizeof(head), text, head.size);
	sources->size = size;
}

void sources_add_all(struct sources *sources, const struct sources *more)
{
	if (!sources)
		return;
	sources->lost = sources->lost || more->lost ||
			ARRAY_RESERVE(sources->data, sources->capacity, sources->size + more->size);
	if (sources->lost || more->size == 0)
		return;
	memcpy(sources->data + sources->size, more->data, more->size);
	sources->size += more->size;
}

/* Without the size: of a packed shard it is that of what is unpacked, and ctime tells as much. */
static uint64_t source_mark(enum source_kind kind, const struct storage_version *version)
{
	struct storage_version seen = *version;
	if (kind == SOURCE_ROOT)
		seen = (struct storage_version){.device = version->device, .inode = version->inode};
	if (kind == SOURCE_BELOW)
		seen.size = 0;
	return storage_version_mark(&seen);
}

void sources_add(struct sources *sources, enum source_kind kind, const char *text,
		 const struct storage_version *version)
{
	sources_add_mark(sources, kind, text, source_mark(kind, version));
}

void sources_add_folder(struct sources *sources, enum source_kind kind, const char *text,
			const struct storage_folder *folder, const char *key)
{
	struct storage_version version;
	struct fault unused; /* who lists it then has the words */
	if (sources && folder->storage->identify(folder->state, key, &version, &unused) == 0)
		sources_add(sources, kind, text, &version);
}

/* By the description's own texts, which say how far they may lead. */
static struct storage_place source_place(const struct dataset_spec *spec, const char *text)
{
	bool labels = spec->labels && strcmp(spec->labels, text) == 0;
	bool path = strcmp(spec->path, text) == 0;
	return dataset_place(spec, path ? spec->path : labels ? spec->labels : text);
}

static bool source_root_holds(struct storage_folder *root, const struct dataset_spec *spec,
			      const char *text, uint64_t mark)
{
	struct storage_version now;
	struct fault unused;
	const struct storage_place place = source_place(spec, text);
	storage_close(root);
	return storage_open(root, &place, &unused) == 0 &&
	       root->storage->identify(root->state, "", &now, &unused) == 0 &&
	       source_mark(SOURCE_ROOT, &now) == mark;
}

static bool source_holds(struct storage_folder *root, const struct dataset_spec *spec,
			 const struct source_head *head, const char *text)
{
	struct storage_version now;
	struct fault unused;
	const struct storage_place place = source_place(spec, text);
	int result = 0;
	switch (head->kind) {
	case SOURCE_FILE:
		result = storage_open_file(&place, NULL, &now, &unused);
		break;
	case SOURCE_ROOT:
		return source_root_holds(root, spec, text, head->mark);
	case SOURCE_FOLDER:
		result = root->storage->identify(root->state, text, &now, &unused);
		break;
	case SOURCE_BELOW:
		result = root->storage->version(root->state, text, &now, &unused);
		break;
	case SOURCE_LINK:
		return true; /* who looks at the files sees it */
	default:
		return shard_names_hold(root, spec->path, head->mark);
	}
	return result == 0 && source_mark((enum source_kind)head->kind, &now) == head->mark;
}

/* Look at what stands at a path of the description; without `wait` as local_peek(). */
static bool source_is_seen(const struct dataset_spec *spec, const struct source_head *head,
			   const char *text, bool wait)
{
	struct storage_version now;
	const struct storage_place place = source_place(spec, text);
	return local_peek(&place, wait, &now) == 0 &&
	       source_mark((enum source_kind)head->kind, &now) == head->mark;
}

static void source_watch(struct folder_watch *watch, const struct storage_folder *root,
			 const struct dataset_spec *spec, const struct source_head *head,
			 const char *text)
{
	if (head->kind == SOURCE_FOLDER)
		folder_watch_add(watch, root, text);
	else if ((head->kind != SOURCE_FILE && head->kind != SOURCE_ROOT) ||
		 !source_is_seen(spec, head, text, true))
		folder_watch_break(watch);
}

/* The text of the one at *at, which goes on to the next; NULL: there is none. */
static const char *source_next(const struct sources *sources, uint64_t *at,
			       struct source_head *head)
{
	if (*at >= sources->size)
		return NULL;
	memcpy(head, sources->data + *at, sizeof(*head));
	const char *text = sources->data + *at + sizeof(*head);
	*at += sizeof(*head) + head->size;
	return text;
}

bool sources_hold(const struct sources *sources, const struct dataset_spec *spec,
		  struct folder_watch *watch)
{
	struct storage_folder root = STORAGE_FOLDER_NULL;
	struct source_head head;
	bool hold = !sources->lost;
	const char *text;
	for (uint64_t at = 0; hold && (text = source_next(sources, &at, &head));) {
		if (watch)
			source_watch(watch, &root, spec, &head, text);
		if (head.kind == SOURCE_FILE || watch)
			hold = source_holds(&root, spec, &head, text);
	}
	storage_close(&root);
	return hold;
}

bool sources_hold_still(const struct sources *sources, const struct dataset_spec *spec)
{
	struct source_head head;
	bool hold = !sources->lost;
	const char *text;
	for (uint64_t at = 0; hold && (text = source_next(sources, &at, &head));)
		hold = head.kind == SOURCE_FOLDER || source_is_seen(spec, &head, text, false);
	return hold;
}

bool sources_have(const struct sources *sources, enum source_kind kind)
{
	struct source_head head;
	for (uint64_t at = 0; source_next(sources, &at, &head);)
		if (head.kind == kind)
			return true;
	return false;
}

void sources_deinit(struct sources *sources)
{
	free(sources->data);
	*sources = SOURCES_NULL;
}
