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
#include "storage/kept_list.h"
#include "storage/local_folder.h"

/* One listing under way. */
struct local_listing {
	const struct local *local;
	const char *folder;
	const struct storage_taker *taker;
	int fd;
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

static void local_fill_entry(const struct local_listing *listing, const struct stat *stat,
			     struct storage_entry *out)
{
	if (out->kind == STORAGE_FILE) {
		const struct storage_version version = local_version_of(stat);
		out->sized = true;
		out->size = version.size;
		out->glance = storage_version_glance(&version);
		out->later = listing->taker->since_ns &&
			     storage_version_is_later(&version, listing->taker->since_ns);
	}
	if (out->kind == STORAGE_FOLDER) {
		out->id[0] = (uint64_t)stat->st_dev;
		out->id[1] = (uint64_t)stat->st_ino;
	}
}

/* Look at an entry. 0, or a negative errno: -ENOENT if it was deleted since it was listed. */
static int local_classify(const struct local_listing *listing, const char *name, bool link,
			  struct storage_entry *out)
{
	struct stat stat = {0};
	enum storage_kind kind = STORAGE_OTHER;
	int result = 0;
	if (!link && fstatat(listing->fd, name, &stat, AT_SYMLINK_NOFOLLOW))
		return -errno;
	link = link || S_ISLNK(stat.st_mode);
	if (link)
		result = local_follow(listing, name, &kind, &stat);
	else
		kind = local_kind(&stat);
	*out = (struct storage_entry){.name = name, .kind = kind, .link = link};
	local_fill_entry(listing, &stat, out);
	return result;
}

/* As local_classify(), by what the folder says of its entry where that is enough: a folder is
 * looked at for its id, a link for what it leads to. */
static int local_take_entry(const struct local_listing *listing, const struct dirent *found,
			    struct storage_entry *out)
{
	const struct storage_taker *taker = listing->taker;
	const char *name = found->d_name;
	switch (found->d_type) {
	case DT_REG:
		*out = (struct storage_entry){.name = name, .kind = STORAGE_FILE};
		return !taker->wants || taker->wants(taker->context, name)
			       ? local_classify(listing, name, false, out)
			       : 0;
	case DT_FIFO:
	case DT_SOCK:
	case DT_CHR:
	case DT_BLK:
		*out = (struct storage_entry){.name = name, .kind = STORAGE_OTHER};
		return 0;
	default:
		return local_classify(listing, name, found->d_type == DT_LNK, out);
	}
}

/* Say why an entry could not be looked at, or hand it on: *more tells whether there shall be more.
 */
static int local_hand_on(const struct local_listing *listing, const char *name, int result,
			 const struct storage_entry *entry, bool *more)
{
	*more = true;
	if (result == -ENOENT)
		return 0;
	if (result)
		return local_say_listing(listing, "look at", name, result);
	*more = listing->taker->take(listing->taker->context, entry);
	return 0;
}

static int local_list_kept(const struct local_listing *listing, const struct kept_list *kept)
{
	const struct storage_taker *taker = listing->taker;
	struct storage_entry entry;
	bool more = true;
	int result = 0;
	for (uint64_t at = 0; more && !result && kept_list_next(kept, &at, &entry);) {
		const char *name = entry.name;
		bool looks = entry.kind == STORAGE_OTHER ||
			     (entry.kind == STORAGE_FILE &&
			      (!taker->wants || taker->wants(taker->context, name)));
		int looked = looks ? local_classify(listing, name, false, &entry) : 0;
		result = local_hand_on(listing, name, looked, &entry, &more);
	}
	return result;
}

static int local_list_entries(const struct local_listing *listing)
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
		bool more;
		int looked = local_take_entry(listing, found, &entry);
		int result = local_hand_on(listing, found->d_name, looked, &entry, &more);
		if (result || !more)
			return result;
	}
}

static const struct kept_list *local_known(const struct local_listing *listing)
{
	struct stat stat;
	const struct storage_taker *taker = listing->taker;
	if (!taker->known || fstat(listing->fd, &stat))
		return NULL;
	const struct storage_version version = local_version_of(&stat);
	return taker->known(taker->context, &version);
}

int local_list(const void *state, const char *folder, const struct storage_taker *taker,
	       struct fault *fault)
{
	struct local_listing listing = {
		.local = state, .folder = folder, .taker = taker, .fault = fault};
	listing.fd = local_open_at(listing.local, *folder ? folder : ".",
				   O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	if (listing.fd < 0)
		return local_say_listing(&listing, "open the folder", "", listing.fd);
	const struct kept_list *kept = local_known(&listing);
	listing.stream = kept ? NULL : fdopendir(listing.fd);
	int error = errno;
	int result = kept	       ? local_list_kept(&listing, kept)
		     : !listing.stream ? local_say_listing(&listing, "open the folder", "", -error)
				       : local_list_entries(&listing);
	if (listing.stream)
		closedir(listing.stream);
	else
		close(listing.fd);
	return result;
}
