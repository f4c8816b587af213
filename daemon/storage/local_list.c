// SPDX-License-Identifier: MIT
#include "storage/local_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/quote.h"
#include "storage/local_folder.h"

/* One listing under way. */
struct local_listing {
	const struct local *local;
	const char *folder;
	DIR *stream;
	struct fault *fault;
};

static int local_say_listing(const struct local_listing *listing, const char *what,
			     const char *name, int error)
{
	struct quote quote;
	char key[PATH_MAX];
	if (error == -ENOMEM)
		return -ENOMEM;
	snprintf(key, sizeof(key), "%s%s%s", listing->folder, *listing->folder && *name ? "/" : "",
		 name);
	return fault_say(listing->fault, STORAGE_E_OPEN, "cannot %s %s: %s", what,
			 quote_text(&quote, *key ? key : "."), strerror(-error));
}

static enum storage_kind local_kind(const struct stat *stat)
{
	return S_ISDIR(stat->st_mode)	? STORAGE_FOLDER
	       : S_ISREG(stat->st_mode) ? STORAGE_FILE
					: STORAGE_OTHER;
}

/* Follow a link. 0 or the negative errno of an error that says nothing about its target. */
static int local_follow(const struct local_listing *listing, const char *name,
			enum storage_kind *kind_out, struct stat *stat)
{
	char key[PATH_MAX];
	int size = snprintf(key, sizeof(key), "%s%s%s", listing->folder,
			    *listing->folder ? "/" : "", name);
	int error =
		(size_t)size < sizeof(key) ? local_stat(listing->local, key, stat) : -ENAMETOOLONG;
	if (error == -ENOMEM || error == -EIO || error == -ESTALE)
		return error;
	*kind_out = error == -EXDEV ? STORAGE_OUTSIDE : error ? STORAGE_OTHER : local_kind(stat);
	return 0;
}

/* 0, or a negative errno: -ENOENT if it was deleted since it was listed. */
static int local_classify(const struct local_listing *listing, const char *name,
			  struct storage_entry *out)
{
	struct stat stat;
	if (fstatat(dirfd(listing->stream), name, &stat, AT_SYMLINK_NOFOLLOW))
		return -errno;
	enum storage_kind kind = local_kind(&stat);
	bool link = S_ISLNK(stat.st_mode);
	int result = link ? local_follow(listing, name, &kind, &stat) : 0;
	*out = (struct storage_entry){.name = name, .kind = kind, .link = link};
	if (kind == STORAGE_FILE) {
		const struct storage_version version = local_version_of(&stat);
		out->size = version.size;
		out->glance = storage_version_glance(&version);
	}
	if (kind == STORAGE_FOLDER) {
		out->id[0] = (uint64_t)stat.st_dev;
		out->id[1] = (uint64_t)stat.st_ino;
	}
	return result;
}

static int local_list_entries(const struct local_listing *listing, storage_take *take,
			      void *context)
{
	for (;;) {
		struct storage_entry entry;
		errno = 0;
		const struct dirent *found = readdir(listing->stream);
		if (!found && errno)
			return local_say_listing(listing, "list the folder", "", -errno);
		if (!found)
			return 0;
		if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0)
			continue;
		int result = local_classify(listing, found->d_name, &entry);
		if (result == -ENOENT)
			continue;
		if (result)
			return local_say_listing(listing, "look at", found->d_name, result);
		if (!take(context, &entry))
			return 0;
	}
}

int local_list(const void *state, const char *folder, storage_take *take, void *context,
	       struct fault *fault)
{
	struct local_listing listing = {.local = state, .folder = folder, .fault = fault};
	int fd = local_open_at(listing.local, *folder ? folder : ".",
			       O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	listing.stream = fd < 0 ? NULL : fdopendir(fd);
	if (!listing.stream) {
		int error = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return local_say_listing(&listing, "open the folder", "", error);
	}
	int result = local_list_entries(&listing, take, context);
	closedir(listing.stream);
	return result;
}
