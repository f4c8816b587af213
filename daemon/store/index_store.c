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
#include "base/owner.h"
#include "store/index_dir.h"
#include "store/index_store_file.h"

#define OWNERS_SHARE 8 /* a user's statistics have this part of the limit */

struct index_store {
	int fd;
	uint64_t limit;
};

/* -- the directory ------------------------------------------------------------------------ */

static void name_of(char *out, const struct digest *fingerprint, const char *ending)
{
	char hex[33];
	digest_hex(fingerprint, hex);
	snprintf(out, INDEX_DIR_NAME_MAX, "%s%s", hex, ending);
}

/* Only the daemon's user may write the directory: a forged index would give wrong pixels. */
static int index_store_check(const struct index_store *store, const char *path, struct fault *fault)
{
	struct stat stat;
	if (fstat(store->fd, &stat) < 0)
		return fault_say(fault, INDEX_STORE_E_SYSTEM, "%s: %s", path, strerror(errno));
	if (stat.st_uid != geteuid())
		return fault_say(fault, INDEX_STORE_E_SYSTEM,
				 "%s is owned by uid %u, not by the daemon's uid %u: chown it, or "
				 "name another folder",
				 path, (unsigned)stat.st_uid, (unsigned)geteuid());
	if (stat.st_mode & (S_IWGRP | S_IWOTH))
		return fault_say(fault, INDEX_STORE_E_SYSTEM,
				 "%s may be written by other users: chmod go-w %s", path, path);
	return 0;
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
	index_store_trim(store);
	*out = store;
	return 0;
}

void index_store_trim(const struct index_store *store)
{
	index_dir_trim(store->fd, "", store->limit, "");
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

static void name_of_indexes(char *out, const struct digest *fingerprint, uint32_t owner)
{
	char ending[OWNER_MARK_MAX + sizeof(INDEX_DIR_INDEX_ENDING)];
	owner_mark(ending, owner);
	strcat(ending, INDEX_DIR_INDEX_ENDING);
	name_of(out, fingerprint, ending);
}

static int index_store_load_file(struct index_store *store, const char *name,
				 struct index_store_key *key, struct seek_index_set *set,
				 const struct index_store_until *until, struct index_store_sum *out,
				 struct fault *fault)
{
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
			      "not a regular file of the daemon's user: remove it");
	else if (stat.st_mode & (S_IRWXG | S_IRWXO))
		r = fault_say(fault, INDEX_STORE_E_OTHER,
			      "other users may use it, and its secret is in it: remove it");
	else
		r = index_store_file_read(fd, key, set, until, out, fault);
	(void)futimens(fd, NULL); /* the time of last use, for index_dir_trim() */
	close(fd);
	return r ? say_name(fault, r, name) : 0;
}

int index_store_load(struct index_store *store, struct index_store_key *key,
		     struct seek_index_set *set, const struct index_store_until *until,
		     struct index_store_sum *out, struct fault *fault)
{
	char name[INDEX_DIR_NAME_MAX];
	name_of_indexes(name, &key->fingerprint, key->owner);
	int r = index_store_load_file(store, name, key, set, until, out, fault);
	if (r != INDEX_STORE_E_NONE || key->owner == OWNER_OF_ALL)
		return r;
	name_of_indexes(name, &key->fingerprint, OWNER_OF_ALL);
	return index_store_load_file(store, name, key, set, until, out, fault);
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
		return fault_say(fault, index_store_file_condition(errno), "%s", strerror(errno));
	int r = file(context, fd, fault);
	if (close(fd) < 0 && r == 0)
		r = fault_say(fault, index_store_file_condition(errno), "close: %s",
			      strerror(errno));
	if (r)
		unlinkat(store->fd, name, 0);
	return r;
}

static int index_store_replace(struct index_store *store, const char *name,
			       const struct digest *fingerprint, index_store_write_file *file,
			       void *context, struct fault *fault)
{
	char fresh[INDEX_DIR_NAME_MAX], ending[INDEX_DIR_NAME_MAX / 2];
	uint64_t number = 0; /* random: process ids of two containers may be equal */
	if (getrandom(&number, sizeof(number), 0) < 0)
		return fault_say(fault, INDEX_STORE_E_SYSTEM, "getrandom: %s", strerror(errno));
	snprintf(ending, sizeof(ending), ".%016llx" INDEX_DIR_NEW_ENDING,
		 (unsigned long long)number);
	name_of(fresh, fingerprint, ending);
	int r = index_store_write(store, fresh, file, context, fault);
	if (r == 0 && renameat(store->fd, fresh, store->fd, name) < 0) {
		r = fault_say(fault, index_store_file_condition(errno), "rename: %s",
			      strerror(errno));
		unlinkat(store->fd, fresh, 0);
	}
	if (r)
		return say_name(fault, r, name);
	(void)fsync(store->fd); /* a lost rename leaves the old file: no harm */
	index_dir_trim(store->fd, "", store->limit, name);
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
	char name[INDEX_DIR_NAME_MAX];
	struct saving saving = {key, set, until, out};
	name_of_indexes(name, &key->fingerprint, key->owner);
	return index_store_replace(store, name, &key->fingerprint, write_indexes, &saving, fault);
}

/* -- statistics --------------------------------------------------------------------------- */

static int write_statistics(void *context, int fd, struct fault *fault)
{
	return statistics_write(context, fd, fault) ? INDEX_STORE_E_SYSTEM : 0;
}

/* Ending of the names of an owner's files; no name of statistics has an @. */
static void owner_ending(char out[INDEX_DIR_NAME_MAX / 4], uint32_t owner)
{
	owner_mark(out, owner);
	strcat(out, INDEX_DIR_STATISTICS_ENDING);
}

int index_store_save_statistics(struct index_store *store, struct statistics *statistics,
				struct fault *fault)
{
	char name[INDEX_DIR_NAME_MAX], ending[INDEX_DIR_NAME_MAX / 2 + 24],
		whose[INDEX_DIR_NAME_MAX / 4];
	const struct statistics_plan *plan = &statistics->plan;
	owner_ending(whose, plan->owner);
	snprintf(ending, sizeof(ending), ".%s%s", plan->name, whose);
	name_of(name, &plan->fingerprint, ending);
	int r = index_store_replace(store, name, &plan->fingerprint, write_statistics, statistics,
				    fault);
	if (r == 0 && plan->owner != OWNER_OF_ALL)
		index_dir_trim(store->fd, whose, store->limit / OWNERS_SHARE, name);
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
		fault_say(fault, r, "not a regular file of the daemon's user: remove it");
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
	char begin[INDEX_DIR_NAME_MAX], whose[INDEX_DIR_NAME_MAX / 4];
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
		    !ends_in(entry->d_name, owned ? whose : INDEX_DIR_STATISTICS_ENDING) ||
		    strlen(entry->d_name) >= INDEX_DIR_NAME_MAX ||
		    count[owned]++ >= INDEX_STORE_STATISTICS_MAX)
			continue;
		bad += load_statistics(store, entry->d_name, owned ? owner : OWNER_OF_ALL,
				       fingerprint, out, fault) != 0;
	}
	if (folder)
		closedir(folder);
	return bad;
}
