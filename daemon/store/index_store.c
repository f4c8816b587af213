// SPDX-License-Identifier: MIT
#include "store/index_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/ending.h"
#include "store/index_store_file.h"

#define INDEX_SUFFIX ".index"
#define STATISTICS_SUFFIX ".fit"
#define SHARDS_SUFFIX ".shards" /* of dataset/shards/shard_keep.c, within the same limit */
#define NEW_SUFFIX ".new"
#define NAME_MAX_ 144
#define OWNERS_SHARE 8 /* a user's statistics have this part of the limit */
#define STALE_S 3600   /* an unfinished file of this age is of a process that died */

struct index_store {
	int fd;
	uint64_t limit;
};

/* -- the directory ------------------------------------------------------------------------ */

static void name_of(char *out, const struct digest *fingerprint, const char *ending)
{
	char hex[33];
	digest_hex(fingerprint, hex);
	snprintf(out, NAME_MAX_, "%s%s", hex, ending);
}

/* Only the daemon's user may write the directory: a forged index would give wrong pixels. */
static int index_store_check(const struct index_store *store, const char *path, struct fault *fault)
{
	struct stat stat;
	if (fstat(store->fd, &stat) < 0)
		return fault_say(fault, INDEX_STORE_E_SYSTEM, "%s: %s", path, strerror(errno));
	if (stat.st_uid != geteuid())
		return fault_say(fault, INDEX_STORE_E_SYSTEM,
				 "%s is owned by uid %u, not by the daemon's uid %u", path,
				 (unsigned)stat.st_uid, (unsigned)geteuid());
	if (stat.st_mode & (S_IWGRP | S_IWOTH))
		return fault_say(fault, INDEX_STORE_E_SYSTEM,
				 "%s may be written by other users: chmod go-w %s", path, path);
	return 0;
}

/* Walk the files once: delete unfinished ones of dead processes, add up the sizes of the others
 * that end so, and find the least recently used of them but `spare`. */
static uint64_t index_store_survey(const struct index_store *store, const char *ending,
				   const char *spare, char *oldest)
{
	uint64_t bytes = 0;
	struct timespec least = {0};
	int fd = openat(store->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	oldest[0] = '\0';
	if (!folder && fd >= 0)
		close(fd);
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		struct stat stat;
		const char *name = entry->d_name;
		if (strlen(name) >= NAME_MAX_ ||
		    fstatat(store->fd, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (ends_in(name, NEW_SUFFIX) && stat.st_mtime < time(NULL) - STALE_S)
			unlinkat(store->fd, name, 0);
		if (!ends_in(name, ending) ||
		    (!ends_in(name, INDEX_SUFFIX) && !ends_in(name, STATISTICS_SUFFIX) &&
		     !ends_in(name, SHARDS_SUFFIX)))
			continue;
		bytes += (uint64_t)stat.st_size;
		bool older = stat.st_mtim.tv_sec < least.tv_sec ||
			     (stat.st_mtim.tv_sec == least.tv_sec &&
			      stat.st_mtim.tv_nsec < least.tv_nsec);
		if ((!oldest[0] || older) && strcmp(name, spare) != 0) {
			strcpy(oldest, name);
			least = stat.st_mtim;
		}
	}
	if (folder)
		closedir(folder);
	return bytes;
}

/* Delete the least recently used files that end so, but not `spare`, until the rest of those is
 * within the limit. */
static void index_store_trim(const struct index_store *store, const char *ending, uint64_t limit,
			     const char *spare)
{
	char oldest[NAME_MAX_];
	while (index_store_survey(store, ending, spare, oldest) > limit && oldest[0])
		if (unlinkat(store->fd, oldest, 0) < 0)
			return;
}

int index_store_open(struct index_store **out, const char *path, uint64_t limit,
		     struct fault *fault)
{
	struct index_store *store = calloc(1, sizeof(*store));
	if (!store)
		return fault_say(fault, -ENOMEM, "out of memory");
	store->limit = limit;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		store->fd = -1;
	else
		store->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = store->fd < 0
			? fault_say(fault, INDEX_STORE_E_SYSTEM, "%s: %s", path, strerror(errno))
			: index_store_check(store, path, fault);
	if (r) {
		index_store_close(store);
		return r;
	}
	index_store_trim(store, "", store->limit, "");
	*out = store;
	return 0;
}

void index_store_close(struct index_store *store)
{
	if (!store)
		return;
	if (store->fd >= 0)
		close(store->fd);
	free(store);
}

/* -- one file ----------------------------------------------------------------------------- */

/* Prefix the words with the file's name. */
static int say_name(struct fault *fault, int condition, const char *name)
{
	struct fault words = *fault;
	return fault_say(fault, condition, "%s: %s", name, words.text);
}

int index_store_load(struct index_store *store, struct index_store_key *key,
		     struct seek_index_set *set, const struct index_store_until *until,
		     struct index_store_sum *out, struct fault *fault)
{
	char name[NAME_MAX_];
	name_of(name, &key->fingerprint, INDEX_SUFFIX);
	/* No symbolic link, and no waiting for the writer of a FIFO. */
	int fd = openat(store->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return INDEX_STORE_E_NONE;
	if (fd < 0)
		return fault_say(fault, INDEX_STORE_E_SYSTEM, "%s: %s", name, strerror(errno));
	struct stat stat;
	int r;
	if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) || stat.st_uid != geteuid())
		r = fault_say(fault, INDEX_STORE_E_OTHER,
			      "not a regular file of the daemon's user");
	else if (stat.st_mode & (S_IRWXG | S_IRWXO))
		r = fault_say(fault, INDEX_STORE_E_OTHER,
			      "other users may use it, and its secret is in it");
	else
		r = index_store_file_read(fd, key, set, until, out, fault);
	(void)futimens(fd, NULL); /* the time of last use, for index_store_trim() */
	close(fd);
	return r ? say_name(fault, r, name) : 0;
}

/* Writes the contents of a new file. */
typedef int index_store_write_file(void *context, int fd, struct fault *fault);

/* Create and write a file; on failure it is deleted. */
static int index_store_write(struct index_store *store, const char *name,
			     index_store_write_file *file, void *context, struct fault *fault)
{
	int fd =
		openat(store->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fault_say(fault, INDEX_STORE_E_SYSTEM, "%s", strerror(errno));
	int r = file(context, fd, fault);
	if (close(fd) < 0 && r == 0)
		r = fault_say(fault, INDEX_STORE_E_SYSTEM, "close: %s", strerror(errno));
	if (r)
		unlinkat(store->fd, name, 0);
	return r;
}

static int index_store_replace(struct index_store *store, const char *name,
			       const struct digest *fingerprint, index_store_write_file *file,
			       void *context, struct fault *fault)
{
	char fresh[NAME_MAX_], ending[NAME_MAX_ / 2];
	uint64_t number = 0; /* random: process ids of two containers may be equal */
	if (getrandom(&number, sizeof(number), 0) < 0)
		return fault_say(fault, INDEX_STORE_E_SYSTEM, "getrandom: %s", strerror(errno));
	snprintf(ending, sizeof(ending), ".%016llx" NEW_SUFFIX, (unsigned long long)number);
	name_of(fresh, fingerprint, ending);
	int r = index_store_write(store, fresh, file, context, fault);
	if (r == 0 && renameat(store->fd, fresh, store->fd, name) < 0) {
		r = fault_say(fault, INDEX_STORE_E_SYSTEM, "rename: %s", strerror(errno));
		unlinkat(store->fd, fresh, 0);
	}
	if (r)
		return say_name(fault, r, name);
	(void)fsync(store->fd); /* a lost rename leaves the old file: no harm */
	index_store_trim(store, "", store->limit, name);
	return 0;
}

struct saving {
	const struct index_store_key *key;
	const struct seek_index_set *set;
	const struct index_store_until *until;
	struct index_store_sum *out;
};

static int write_indexes(void *context, int fd, struct fault *fault)
{
	struct saving *saving = context;
	return index_store_file_write(fd, saving->key, saving->set, saving->until, saving->out,
				      fault);
}

int index_store_save(struct index_store *store, const struct index_store_key *key,
		     const struct seek_index_set *set, const struct index_store_until *until,
		     struct index_store_sum *out, struct fault *fault)
{
	char name[NAME_MAX_];
	struct saving saving = {key, set, until, out};
	name_of(name, &key->fingerprint, INDEX_SUFFIX);
	return index_store_replace(store, name, &key->fingerprint, write_indexes, &saving, fault);
}

/* -- statistics --------------------------------------------------------------------------- */

static int write_statistics(void *context, int fd, struct fault *fault)
{
	return statistics_write(context, fd, fault) ? INDEX_STORE_E_SYSTEM : 0;
}

/* What the names of an owner's files end in; no name of statistics has an @. */
static void owner_ending(char out[NAME_MAX_ / 4], uint32_t owner)
{
	if (owner == STATISTICS_OF_ALL)
		strcpy(out, STATISTICS_SUFFIX);
	else
		snprintf(out, NAME_MAX_ / 4, "@%u" STATISTICS_SUFFIX, (unsigned)owner);
}

int index_store_save_statistics(struct index_store *store, struct statistics *statistics,
				struct fault *fault)
{
	char name[NAME_MAX_], ending[NAME_MAX_ / 2 + 24], whose[NAME_MAX_ / 4];
	const struct statistics_plan *plan = &statistics->plan;
	owner_ending(whose, plan->owner);
	snprintf(ending, sizeof(ending), ".%s%s", plan->name, whose);
	name_of(name, &plan->fingerprint, ending);
	int r = index_store_replace(store, name, &plan->fingerprint, write_statistics, statistics,
				    fault);
	if (r == 0 && plan->owner != STATISTICS_OF_ALL)
		index_store_trim(store, whose, store->limit / OWNERS_SHARE, name);
	return r;
}

/* Read one file. Any result but 0: it is left out. */
static int load_statistics(struct index_store *store, const char *name, uint32_t owner,
			   const struct digest *fingerprint, struct statistics **out,
			   struct fault *fault)
{
	struct statistics *statistics;
	struct stat stat;
	int fd = openat(store->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return fault_say(fault, INDEX_STORE_E_SYSTEM, "%s: %s", name, strerror(errno));
	int r = INDEX_STORE_E_OTHER;
	if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) || stat.st_uid != geteuid())
		fault_say(fault, r, "not a regular file of the daemon's user");
	else
		r = statistics_read(&statistics, fd, fingerprint, fault);
	if (r < 0)
		fault_say(fault, r, "out of memory");
	close(fd);
	if (r)
		return say_name(fault, r, name);
	statistics->plan.owner = owner;
	statistics->next = *out;
	*out = statistics;
	return 0;
}

unsigned index_store_load_statistics(struct index_store *store, const struct digest *fingerprint,
				     uint32_t owner, struct statistics **out, struct fault *fault)
{
	char begin[NAME_MAX_], whose[NAME_MAX_ / 4];
	unsigned count[2] = {0}, bad = 0; /* of all, of this owner */
	int fd = openat(store->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder && fd >= 0)
		close(fd);
	name_of(begin, fingerprint, ".");
	owner_ending(whose, owner);
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		bool owned = strchr(entry->d_name, '@');
		if (strncmp(entry->d_name, begin, strlen(begin)) != 0 ||
		    !ends_in(entry->d_name, owned ? whose : STATISTICS_SUFFIX) ||
		    strlen(entry->d_name) >= NAME_MAX_ ||
		    count[owned]++ >= INDEX_STORE_STATISTICS_MAX)
			continue;
		bad += load_statistics(store, entry->d_name, owned ? owner : STATISTICS_OF_ALL,
				       fingerprint, out, fault) != 0;
	}
	if (folder)
		closedir(folder);
	return bad;
}
