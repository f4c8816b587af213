// SPDX-License-Identifier: MIT
#include "store/index_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/ending.h"
#include "base/owner.h"

#define BLOCK 4096u
#define STALE_S 3600 /* an unfinished file of this age is of a process that died */

struct shelf_file {
	char name[INDEX_DIR_NAME_MAX];
	uint32_t owner;
	bool spare;
	uint64_t bytes;
	struct timespec used;
};

struct shelf {
	struct shelf_file *files;
	size_t count, capacity;
	uint64_t bytes;
};

/* -- the directory ------------------------------------------------------------------------ */

static bool is_ours(const char *name, const char *ending)
{
	return ends_in(name, ending) && (ends_in(name, INDEX_DIR_INDEX_ENDING) ||
					 ends_in(name, INDEX_DIR_STATISTICS_ENDING) ||
					 ends_in(name, INDEX_DIR_SHARDS_ENDING));
}

/* For want of memory it is not on the list: then the next one goes in its place. */
static void shelf_add(struct shelf *shelf, const char *name, const struct stat *stat,
		      const char *spare)
{
	uint64_t bytes = ((uint64_t)stat->st_size + BLOCK - 1) / BLOCK * BLOCK;
	shelf->bytes += bytes;
	if (shelf->count == shelf->capacity) {
		size_t capacity = shelf->capacity ? shelf->capacity * 2 : 64;
		struct shelf_file *files = realloc(shelf->files, capacity * sizeof(*files));
		if (!files)
			return;
		shelf->files = files;
		shelf->capacity = capacity;
	}
	struct shelf_file *file = &shelf->files[shelf->count++];
	*file = (struct shelf_file){.owner = owner_of_file(name),
				    .spare = strcmp(name, spare) == 0,
				    .bytes = bytes,
				    .used = stat->st_mtim};
	strcpy(file->name, name);
}

static void shelf_read(struct shelf *shelf, int directory, const char *ending, const char *spare)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder && fd >= 0)
		close(fd);
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		struct stat stat;
		const char *name = entry->d_name;
		if (strlen(name) >= INDEX_DIR_NAME_MAX ||
		    fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!ending[0] && ends_in(name, INDEX_DIR_NEW_ENDING) &&
		    stat.st_mtime < time(NULL) - STALE_S)
			unlinkat(directory, name, 0);
		if (is_ours(name, ending))
			shelf_add(shelf, name, &stat, spare);
	}
	if (folder)
		closedir(folder);
}

/* -- who makes room ----------------------------------------------------------------------- */

static int compare_used(const struct shelf_file *a, const struct shelf_file *b)
{
	if (a->used.tv_sec != b->used.tv_sec)
		return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
	return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

/* By owner; each owner's in the order in which they go. */
static int compare_files(const void *left, const void *right)
{
	const struct shelf_file *a = left, *b = right;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	if (a->spare != b->spare)
		return a->spare ? 1 : -1;
	return compare_used(a, b);
}

/* The next file to go of the owner that has most; NULL: there is none. */
static struct shelf_file *shelf_next(const struct shelf *shelf)
{
	struct shelf_file *next = NULL;
	uint64_t most = 0;
	for (size_t from = 0, to; from < shelf->count; from = to) {
		struct shelf_file *first = NULL;
		uint64_t bytes = 0;
		for (to = from;
		     to < shelf->count && shelf->files[to].owner == shelf->files[from].owner;
		     to++) {
			struct shelf_file *file = &shelf->files[to];
			bytes += file->bytes;
			if (!first && file->bytes && !(file->spare && file->owner == OWNER_OF_ALL))
				first = file;
		}
		if (first && bytes > most) {
			most = bytes;
			next = first;
		}
	}
	return next;
}

void index_dir_trim(int directory, const char *ending, uint64_t limit, const char *spare)
{
	struct shelf shelf = {0};
	struct shelf_file *file;
	shelf_read(&shelf, directory, ending, spare);
	if (shelf.bytes > limit)
		qsort(shelf.files, shelf.count, sizeof(*shelf.files), compare_files);
	while (shelf.bytes > limit && (file = shelf_next(&shelf))) {
		/* It may be gone already, and what cannot be deleted is not asked for again. */
		(void)unlinkat(directory, file->name, 0);
		shelf.bytes -= file->bytes;
		file->bytes = 0;
	}
	free(shelf.files);
}
