// SPDX-License-Identifier: MIT
#include "dataset/folders/folder_keep.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dataset/dataset.h"
#include "dataset/index.h"
#include "storage/keep_file.h"
#include "storage/local_watch.h"

#define MAGIC "stokfold"
#define VERSION 1 /* raise it with every change of what is kept */
#define ENDING ".folders"
#define TICK_NS ((int64_t)3000000000) /* FAT has ticks of two seconds */

/* Behind the head: of each folder this, the path with its end, and its list. */
struct kept_head {
	struct storage_version version;
	uint64_t path_size, list_size;
};

struct kept_folder {
	const char *path;
	struct storage_version version;
	struct kept_list list;
	bool used; /* the folder is still as it was */
};

struct folder_keep {
	struct keep_file file;
	uint8_t *data;		  /* owned: what the file had */
	struct kept_folder *kept; /* sorted by path; point into it */
	uint64_t kept_count, kept_capacity;
	pthread_mutex_t lock;	   /* of what follows, and of `used` */
	struct kept_folder *added; /* paths and lists are owned */
	uint64_t added_count, added_capacity;
};

static int kept_by_path(const void *a, const void *b)
{
	return strcmp(((const struct kept_folder *)a)->path, ((const struct kept_folder *)b)->path);
}

/* 0, or that it is none. */
static int keep_parse_folder(struct folder_keep *keep, struct keep_source *source)
{
	struct kept_head head;
	const void *from = keep_take(source, 1, sizeof(head));
	if (!from)
		return -EINVAL;
	memcpy(&head, from, sizeof(head));
	const char *path = keep_take(source, head.path_size, 1);
	const uint8_t *data = path ? keep_take(source, head.list_size, 1) : NULL;
	if (!data || head.path_size == 0 || head.path_size > INDEX_PATH_MAX ||
	    memchr(path, '\0', head.path_size) != path + head.path_size - 1 ||
	    ARRAY_RESERVE(keep->kept, keep->kept_capacity, keep->kept_count + 1))
		return -EINVAL;
	struct kept_folder *folder = &keep->kept[keep->kept_count++];
	*folder = (struct kept_folder){
		.path = path,
		.version = head.version,
		.list = {.data = (uint8_t *)(uintptr_t)data, .size = head.list_size}};
	return kept_list_is_whole(&folder->list) ? 0 : -EINVAL;
}

static void keep_forget(struct folder_keep *keep)
{
	free(keep->kept);
	free(keep->data);
	keep->kept = NULL;
	keep->data = NULL;
	keep->kept_count = keep->kept_capacity = 0;
}

/* All of it, or nothing. */
static int keep_parse(struct folder_keep *keep, const uint8_t *data, uint64_t size)
{
	struct keep_source source = {data, size};
	int result = keep_take(&source, 1, sizeof(struct keep_head)) ? 0 : -EINVAL;
	while (!result && source.left)
		result = keep_parse_folder(keep, &source);
	if (result)
		return result;
	if (keep->kept_count)
		qsort(keep->kept, keep->kept_count, sizeof(*keep->kept), kept_by_path);
	return 0;
}

static struct folder_keep *keep_new(void)
{
	struct folder_keep *keep = calloc(1, sizeof(*keep));
	if (keep)
		pthread_mutex_init(&keep->lock, NULL); /* cannot fail on Linux */
	return keep;
}

int folder_keep_parse(struct folder_keep **out, const uint8_t *data, uint64_t size)
{
	struct folder_keep *keep = keep_new();
	int result = keep ? keep_parse(keep, data, size) : -ENOMEM;
	if (result)
		folder_keep_free(keep);
	else
		*out = keep;
	return result;
}

/* Charged: what is known goes if there is no room for it. */
static void keep_load(struct folder_keep *keep, struct dataset_progress *progress)
{
	struct fault unused;
	const struct keep_head head = keep_head_of(&keep->file, MAGIC, VERSION);
	uint64_t size = 0;
	keep->data = keep_file_read(&keep->file, &head, &size);
	if (!keep->data)
		return;
	int result = keep_parse(keep, keep->data, size);
	uint64_t bytes = size + keep->kept_capacity * sizeof(*keep->kept);
	if (result || dataset_progress_add(progress, bytes, &unused))
		keep_forget(keep);
}

struct folder_keep *folder_keep_open(struct dataset_progress *progress, const char *root,
				     const struct storage_folder *folder)
{
	if (!progress->keep_folder || !progress->names || local_is_far(folder) ||
	    folder->storage->at_once)
		return NULL;
	struct folder_keep *keep = keep_new();
	if (!keep)
		return NULL;
	keep->file = (struct keep_file){.folder = progress->keep_folder,
					.ending = ENDING,
					.owner = progress->keep_owner,
					.name = digest_of(root, strlen(root))};
	keep_load(keep, progress);
	return keep;
}

const struct kept_list *folder_keep_find(struct folder_keep *keep, const char *path,
					 const struct storage_version *version)
{
	const struct kept_folder wanted = {.path = path};
	struct kept_folder *found = keep->kept_count
					    ? bsearch(&wanted, keep->kept, keep->kept_count,
						      sizeof(*keep->kept), kept_by_path)
					    : NULL;
	if (!found || !storage_version_equal(&found->version, version))
		return NULL;
	pthread_mutex_lock(&keep->lock);
	found->used = true;
	pthread_mutex_unlock(&keep->lock);
	return &found->list;
}

bool folder_keep_wants(const struct storage_version *version)
{
	return !storage_version_is_later(version, storage_clock_ns() - TICK_NS);
}

uint64_t folder_keep_add(struct folder_keep *keep, const char *path,
			 const struct storage_version *version, struct kept_list *list)
{
	char *copy = strdup(path);
	ARRAY_SHRINK(list->data, list->capacity, list->size);
	uint64_t bytes = sizeof(struct kept_folder) + strlen(path) + list->capacity;
	pthread_mutex_lock(&keep->lock);
	bool room =
		copy && !ARRAY_RESERVE(keep->added, keep->added_capacity, keep->added_count + 1);
	if (room)
		keep->added[keep->added_count++] =
			(struct kept_folder){.path = copy, .version = *version, .list = *list};
	pthread_mutex_unlock(&keep->lock);
	if (!room) {
		free(copy);
		return 0;
	}
	*list = (struct kept_list){NULL};
	return bytes;
}

static void keep_put_folder(struct keep_sink *sink, const struct kept_folder *folder)
{
	const struct kept_head head = {folder->version, strlen(folder->path) + 1,
				       folder->list.size};
	keep_put(sink, &head, 1, sizeof(head));
	keep_put(sink, folder->path, head.path_size, 1);
	keep_put(sink, folder->list.data, head.list_size, 1);
}

bool folder_keep_save(struct folder_keep *keep)
{
	struct keep_sink *sink = keep->added_count ? keep_sink_begin(&keep->file) : NULL;
	if (!sink)
		return false;
	const struct keep_head head = keep_head_of(&keep->file, MAGIC, VERSION);
	keep_put(sink, &head, 1, sizeof(head));
	for (uint64_t i = 0; i < keep->kept_count; i++)
		if (keep->kept[i].used)
			keep_put_folder(sink, &keep->kept[i]);
	for (uint64_t i = 0; i < keep->added_count; i++)
		keep_put_folder(sink, &keep->added[i]);
	return keep_sink_end(sink);
}

void folder_keep_free(struct folder_keep *keep)
{
	if (!keep)
		return;
	for (uint64_t i = 0; i < keep->added_count; i++) {
		free((char *)(uintptr_t)keep->added[i].path);
		free(keep->added[i].list.data);
	}
	free(keep->added);
	keep_forget(keep);
	pthread_mutex_destroy(&keep->lock);
	free(keep);
}
