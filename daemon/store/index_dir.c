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

struct index_dir_file {
	char name[INDEX_DIR_NAME_MAX];
	uint32_t owner;
	bool spare;
	uint64_t bytes;
	struct timespec used;
};

struct index_dir {
	struct index_dir_file *files;
	size_t count, capacity;
	uint64_t bytes;
};

/* -- the directory ------------------------------------------------------------------------ */

static bool is_ours(const char *name, const char *ending)
{
	return ends_in(name, ending) &&
	       (ends_in(name, INDEX_DIR_INDEX_ENDING) ||
		ends_in(name, INDEX_DIR_STATISTICS_ENDING) ||
		ends_in(name, INDEX_DIR_SHARDS_ENDING) || ends_in(name, INDEX_DIR_FOLDERS_ENDING) ||
		ends_in(name, INDEX_DIR_SIZES_ENDING));
}

/* For want of memory it is not on the list: then the next one goes in its place. */
static void index_dir_add(struct index_dir *dir, const char *name, const struct stat *stat,
			  const char *spare)
{
	uint64_t bytes = ((uint64_t)stat->st_size + BLOCK - 1) / BLOCK * BLOCK;
	dir->bytes += bytes;
	if (dir->count == dir->capacity) {
		size_t capacity = dir->capacity ? dir->capacity * 2 : 64;
		struct index_dir_file *files = realloc(dir->files, capacity * sizeof(*files));
		if (!files)
			return;
		dir->files = files;
		dir->capacity = capacity;
	}
	struct index_dir_file *file = &dir->files[dir->count++];
	*file = (struct index_dir_file){.owner = owner_of_file(name),
					.spare = strcmp(name, spare) == 0,
					.bytes = bytes,
					.used = stat->st_mtim};
	strcpy(file->name, name);
}

static void index_dir_read(struct index_dir *dir, int directory, const char *ending,
			   const char *spare)
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
			index_dir_add(dir, name, &stat, spare);
	}
	if (folder)
		closedir(folder);
}

/* -- who makes room ----------------------------------------------------------------------- */

static int compare_used(const struct index_dir_file *a, const struct index_dir_file *b)
{
	if (a->used.tv_sec != b->used.tv_sec)
		return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
	return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

/* By owner; each owner's in the order in which they go. */
static int compare_files(const void *left, const void *right)
{
	const struct index_dir_file *a = left, *b = right;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	if (a->spare != b->spare)
		return a->spare ? 1 : -1;
	return compare_used(a, b);
}

/* The next file to go of the owner that has most; NULL: there is none. */
static struct index_dir_file *index_dir_next(const struct index_dir *dir)
{
	struct index_dir_file *next = NULL;
	uint64_t most = 0;
	for (size_t from = 0, to; from < dir->count; from = to) {
		struct index_dir_file *first = NULL;
		uint64_t bytes = 0;
		for (to = from; to < dir->count && dir->files[to].owner == dir->files[from].owner;
		     to++) {
			struct index_dir_file *file = &dir->files[to];
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
	struct index_dir dir = {0};
	struct index_dir_file *file;
	index_dir_read(&dir, directory, ending, spare);
	if (dir.bytes > limit)
		qsort(dir.files, dir.count, sizeof(*dir.files), compare_files);
	while (dir.bytes > limit && (file = index_dir_next(&dir))) {
		/* It may be gone already, and what cannot be deleted is not asked for again. */
		(void)unlinkat(directory, file->name, 0);
		dir.bytes -= file->bytes;
		file->bytes = 0;
	}
	free(dir.files);
}
