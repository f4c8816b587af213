// SPDX-License-Identifier: MIT
#include "dataset/arrays/bundle.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/ending.h"
#include "base/quote.h"
#include "dataset/arrays/gunzip.h"
#include "dataset/sources.h"
#include "storage/storage.h"

#define BLOCK ((size_t)1 << 16)
/* Files in an archive: a header has 512 bytes, and a compressed megabyte can hold millions. */
#define ENTRIES_MAX 1000000u
/* Files that bundle_has() looks at; published sets have ten. */
#define LOOK_ENTRIES_MAX 32u
/* Bytes of files that nobody asked for: if compressed they must be unpacked to get past them. */
#define PASS_BYTES_MAX ((uint64_t)4 << 30)
#define NAMES_MAX 16 /* of bundle_has() */
#define LIST_ENTRIES_MAX 1024u
#define LOOK_BYTES_MAX ((uint64_t)256 << 20)
#define TOO_MANY_BYTES "the archive has too many bytes besides the dataset's files"

struct bundle_walk {
	const struct bundle *bundle;
	struct bundle_file *files;
	size_t count;
	bool read;	   /* or only see whether they exist */
	bool any;	   /* stop at the first that exists */
	bundle_seen *seen; /* NULL: no listing */
	void *with;
	struct buffer head;  /* of a listing: the first bytes of a file */
	unsigned entries;    /* limit of files in an archive */
	uint64_t pass;	     /* bytes of other files that may still be skipped */
	uint64_t left;	     /* the rest of max_bytes */
	struct gunzip *gzip; /* of an archive that is packed */
	struct buffer block; /* of what it contains */
	int failed;	     /* unpacking did, and `fault` says why */
	struct fault *fault;
};

/* Gives the next bytes of `from`, none at its end. 0, a condition or -ENOMEM. */
typedef int bundle_more(struct bundle_walk *walk, void *from, const char *name, uint8_t *to,
			size_t size, size_t *got_out);

bool bundle_is_archive(const char *path)
{
	return ends_in(path, ".tar") || ends_in(path, ".tar.gz") || ends_in(path, ".tgz") ||
	       ends_in(path, ".zip");
}

static int bundle_bad(struct bundle_walk *walk, const char *name, const char *why)
{
	struct quote quote, inner;
	return fault_say(walk->fault, BUNDLE_E_OPEN, "cannot read %s%s%s: %s",
			 quote_text(&quote, walk->bundle->place.path), name ? ": " : "",
			 name ? quote_text(&inner, name) : "", why);
}

static int bundle_archive_bad(struct bundle_walk *walk, struct archive *archive, const char *name)
{
	if (walk->failed)
		return walk->failed;
	if (archive_errno(archive) == ENOMEM)
		return -ENOMEM;
	return bundle_bad(walk, name, archive_error_string(archive));
}

static int bundle_too_large(struct bundle_walk *walk, const char *name)
{
	struct quote quote, inner;
	return fault_say(walk->fault, BUNDLE_E_LIMIT,
			 "%s: %s: the files of this dataset are larger than the %llu bytes that "
			 "they may take in memory: raise dataset-memory (up to 4 GiB of it count)",
			 quote_text(&quote, walk->bundle->place.path), quote_text(&inner, name),
			 (unsigned long long)walk->bundle->max_bytes);
}

static int bundle_check_cancel(struct bundle_walk *walk)
{
	if (atomic_load_explicit(&walk->bundle->progress->cancel, memory_order_relaxed))
		return fault_say(walk->fault, BUNDLE_E_CANCELLED, "opening was cancelled");
	return 0;
}

static struct bundle_file *bundle_find(struct bundle_walk *walk, const char *name)
{
	for (size_t i = 0; i < walk->count; i++) {
		size_t size = strlen(walk->files[i].name);
		if (strncmp(name, walk->files[i].name, size) == 0 &&
		    (!name[size] || strcmp(name + size, ".gz") == 0))
			return &walk->files[i];
	}
	return NULL;
}

/* As buffer_reserve(), but keeps the content. */
static int bundle_grow(struct buffer *buffer, size_t need)
{
	struct buffer grown = BUFFER_NULL;
	if (need <= buffer->capacity)
		return 0;
	size_t room = buffer->capacity + buffer->capacity / 2;
	int result = buffer_reserve(&grown, room < need ? need : room);
	if (result)
		return result;
	if (buffer->size)
		memcpy(grown.data, buffer->data, buffer->size);
	grown.size = buffer->size;
	buffer_deinit(buffer);
	*buffer = grown;
	return 0;
}

static int bundle_read_all(struct bundle_walk *walk, bundle_more *more, void *from,
			   const char *name, struct buffer *out)
{
	for (;;) {
		size_t got = 0;
		int result = bundle_check_cancel(walk);
		/* One byte more than allowed, to notice that there is one. */
		size_t want = walk->left < BLOCK ? (size_t)walk->left + 1 : BLOCK;
		if (!result)
			result = bundle_grow(out, out->size + want);
		if (!result)
			result = more(walk, from, name, out->data + out->size, want, &got);
		if (result || got == 0)
			return result;
		if (got > walk->left)
			return bundle_too_large(walk, name);
		if (dataset_progress_add(walk->bundle->progress, got, walk->fault))
			return BUNDLE_E_LIMIT;
		out->size += got;
		walk->left -= got;
	}
}

/* -- gzip, of which libarchive does not compare the checksums ---------------------------------- */

static int bundle_gzip_more(struct bundle_walk *walk, void *from, const char *name, uint8_t *to,
			    size_t size, size_t *got_out)
{
	struct fault why;
	/* libarchive takes a failure behind the first block of an archive's end for the end. */
	if (walk->failed)
		return walk->failed;
	int result = gunzip_read(from, to, size, got_out, &why);
	if (result == GUNZIP_E_CANCELLED)
		result = fault_say(walk->fault, BUNDLE_E_CANCELLED, "%s", why.text);
	else if (result > 0)
		result = bundle_bad(walk, name, why.text);
	walk->failed = result;
	return result;
}

/* For libarchive. */
static la_ssize_t bundle_gzip_block(struct archive *archive, void *context, const void **out)
{
	struct bundle_walk *walk = context;
	struct buffer *block = &walk->block;
	(void)archive;
	*out = block->data;
	if (bundle_gzip_more(walk, walk->gzip, NULL, block->data, BLOCK, &block->size))
		return ARCHIVE_FATAL;
	return (la_ssize_t)block->size;
}

/* The checksum stands behind all, also behind what nobody asked for. */
static int bundle_gzip_end(struct bundle_walk *walk)
{
	struct buffer *block = &walk->block;
	do {
		int result =
			bundle_gzip_more(walk, walk->gzip, NULL, block->data, BLOCK, &block->size);
		if (result)
			return result;
		if (block->size > walk->pass)
			return bundle_bad(walk, NULL, TOO_MANY_BYTES);
		walk->pass -= block->size;
	} while (block->size);
	return 0;
}

/* Replace the bytes of a .gz file by what it contains; once only, like an archive's. */
static int bundle_unpack(struct bundle_walk *walk, struct bundle_file *file)
{
	struct buffer whole = BUFFER_NULL;
	if (!gunzip_suits(file->bytes.data, file->bytes.size))
		return 0;
	struct gunzip *gzip = gunzip_new(-1, &file->bytes, &walk->bundle->progress->cancel);
	int result =
		gzip ? bundle_read_all(walk, bundle_gzip_more, gzip, file->name, &whole) : -ENOMEM;
	gunzip_free(gzip);
	if (result) {
		buffer_deinit(&whole);
		return result;
	}
	buffer_deinit(&file->bytes);
	file->bytes = whole;
	return 0;
}

/* -- an archive ------------------------------------------------------------------------------ */

static const char *bundle_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Skip a file that nobody asked for; if compressed it must be unpacked to get past it. */
static int bundle_pass(struct bundle_walk *walk, struct archive_entry *entry, const char *path)
{
	int64_t size = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : 0;
	if (size < 0 || (uint64_t)size > walk->pass)
		return bundle_bad(walk, path, TOO_MANY_BYTES);
	walk->pass -= (uint64_t)size;
	return 0;
}

static int bundle_entry_more(struct bundle_walk *walk, void *from, const char *name, uint8_t *to,
			     size_t size, size_t *got_out)
{
	struct archive *archive = from;
	la_ssize_t got = archive_read_data(archive, to, size);
	if (got < 0)
		return bundle_archive_bad(walk, archive, name);
	*got_out = (size_t)got;
	return 0;
}

static int bundle_list_entry(struct bundle_walk *walk, struct archive *archive, const char *path)
{
	size_t size = 0, got = 1;
	while (got && size < walk->head.size) {
		int result = bundle_entry_more(walk, archive, path, walk->head.data + size,
					       walk->head.size - size, &got);
		if (result)
			return result;
		size += got;
	}
	return walk->seen(walk->with, bundle_last_part(path), walk->head.data, size);
}

static int bundle_take_entry(struct bundle_walk *walk, struct archive *archive,
			     struct archive_entry *entry)
{
	const char *path = archive_entry_pathname(entry);
	if (!path || archive_entry_filetype(entry) != AE_IFREG)
		return 0;
	if (walk->seen) {
		int result = bundle_pass(walk, entry, path);
		return result ? result : bundle_list_entry(walk, archive, path);
	}
	struct bundle_file *file = bundle_find(walk, bundle_last_part(path));
	if (!file)
		return bundle_pass(walk, entry, path);
	if (file->found)
		return bundle_bad(walk, path, "the archive has two files of this name");
	file->found = true;
	if (!walk->read)
		return 0;
	int result = bundle_read_all(walk, bundle_entry_more, archive, path, &file->bytes);
	return result ? result : bundle_unpack(walk, file);
}

static bool bundle_is_done(const struct bundle_walk *walk)
{
	if (walk->seen)
		return false;
	for (size_t i = 0; i < walk->count; i++) {
		if (walk->files[i].found == walk->any)
			return walk->any;
	}
	return !walk->any;
}

static int bundle_walk_entries(struct bundle_walk *walk, struct archive *archive)
{
	for (unsigned entries = 0; !bundle_is_done(walk); entries++) {
		struct archive_entry *entry;
		int result = bundle_check_cancel(walk);
		if (result)
			return result;
		int r = archive_read_next_header(archive, &entry);
		if (r == ARCHIVE_EOF)
			return 0;
		if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
			return bundle_archive_bad(walk, archive, NULL);
		if (entries == walk->entries)
			return bundle_bad(walk, NULL, "the archive has too many files");
		result = bundle_take_entry(walk, archive, entry);
		if (result)
			return result;
	}
	return 0;
}

/* A zip is read by its central directory. One without it was cut off, and its files could only be
 * found by unpacking each, without knowing its size. libarchive unpacks no gzip: not within a gzip
 * either, which can take hours before the first byte comes. */
static int bundle_walk_archive(struct bundle_walk *walk, int fd)
{
	struct archive *archive = archive_read_new();
	if (!archive || archive_read_support_format_tar(archive) != ARCHIVE_OK ||
	    archive_read_support_format_zip_seekable(archive) != ARCHIVE_OK) {
		archive_read_free(archive);
		return -ENOMEM;
	}
	int opened = walk->gzip ? archive_read_open(archive, walk, NULL, bundle_gzip_block, NULL)
				: archive_read_open_fd(archive, fd, BLOCK);
	int result = opened == ARCHIVE_OK ? bundle_walk_entries(walk, archive)
					  : bundle_archive_bad(walk, archive, NULL);
	archive_read_free(archive);
	return result;
}

static int bundle_walk_gzip(struct bundle_walk *walk, int fd)
{
	walk->gzip = gunzip_new(fd, NULL, &walk->bundle->progress->cancel);
	int result = walk->gzip ? buffer_reserve(&walk->block, BLOCK) : -ENOMEM;
	if (!result)
		result = bundle_walk_archive(walk, fd);
	if (!result && walk->read)
		result = bundle_gzip_end(walk);
	gunzip_free(walk->gzip);
	buffer_deinit(&walk->block);
	return result;
}

static int bundle_walk_fd(struct bundle_walk *walk, int fd)
{
	uint8_t head[2];
	ssize_t size = pread(fd, head, sizeof(head), 0);
	if (size < 0)
		return bundle_bad(walk, NULL, strerror(errno));
	return gunzip_suits(head, (size_t)size) ? bundle_walk_gzip(walk, fd)
						: bundle_walk_archive(walk, fd);
}

static int bundle_walk_file(struct bundle_walk *walk)
{
	const struct bundle *bundle = walk->bundle;
	struct storage_version version;
	struct fault why;
	int fd;
	if (storage_open_file(&bundle->place, &fd, &version, &why))
		return bundle_bad(walk, NULL, why.text);
	sources_add(bundle->progress->sources, SOURCE_FILE, bundle->place.path, &version);
	int result = bundle_walk_fd(walk, fd);
	close(fd);
	return result;
}

/* -- a folder -------------------------------------------------------------------------------- */

static int bundle_take_file(struct bundle_walk *walk, const struct storage_folder *folder,
			    const char *path, struct bundle_file *file)
{
	struct storage_version version;
	struct fault why;
	if (folder->storage->version(folder->state, path, &version, &why))
		return 0;
	file->found = true;
	if (!walk->read)
		return 0;
	int result = folder->storage->read_range(folder->state, path, STORAGE_WHOLE, walk->left,
						 &file->bytes, &version, &why);
	if (result == STORAGE_E_LIMIT)
		return bundle_too_large(walk, path);
	if (result)
		return result < 0 ? result : bundle_bad(walk, NULL, why.text);
	sources_add(walk->bundle->progress->sources, SOURCE_BELOW, path, &version);
	walk->left -= file->bytes.size;
	if (dataset_progress_add(walk->bundle->progress, file->bytes.size, walk->fault))
		return BUNDLE_E_LIMIT;
	return bundle_unpack(walk, file);
}

/* The files that lie in `within`, a folder beneath the opened one. */
static int bundle_walk_within(struct bundle_walk *walk, const struct storage_folder *folder,
			      const char *within, bool *any)
{
	int result = 0;
	for (size_t i = 0; i < walk->count && !result; i++) {
		struct bundle_file *file = &walk->files[i];
		for (int packed = 0; packed < 2 && !file->found && !result; packed++) {
			char path[PATH_MAX];
			int size = snprintf(path, sizeof(path), "%s%s%s%s", within,
					    *within ? "/" : "", file->name, packed ? ".gz" : "");
			if (size > 0 && (size_t)size < sizeof(path))
				result = bundle_take_file(walk, folder, path, file);
		}
		*any |= file->found;
		if (!result)
			result = bundle_check_cancel(walk);
	}
	return result;
}

static int bundle_walk_folder(struct bundle_walk *walk)
{
	struct storage_folder folder = STORAGE_FOLDER_NULL;
	bool any = false;
	int result = storage_open(&folder, &walk->bundle->place, walk->fault);
	if (result)
		return result < 0 ? result : BUNDLE_E_OPEN;
	sources_add_folder(walk->bundle->progress->sources, SOURCE_ROOT, walk->bundle->place.path,
			   &folder, "");
	result = bundle_walk_within(walk, &folder, "", &any);
	for (const char *const *at = walk->bundle->within; at && *at && !any && !result; at++)
		result = bundle_walk_within(walk, &folder, *at, &any);
	storage_close(&folder);
	return result;
}

static int bundle_walk(struct bundle_walk *walk)
{
	bool folder;
	for (size_t i = 0; i < walk->count; i++)
		walk->files[i].found = false;
	int result = storage_look(&walk->bundle->place, &folder);
	if (result)
		return bundle_bad(walk, NULL, strerror(-result));
	if (folder && !walk->seen)
		return bundle_walk_folder(walk);
	return bundle_walk_file(walk);
}

int bundle_read(const struct bundle *bundle, struct bundle_file *files, size_t count,
		struct fault *fault)
{
	struct bundle_walk walk = {
		.bundle = bundle,
		.files = files,
		.count = count,
		.read = true,
		.entries = ENTRIES_MAX,
		.pass = PASS_BYTES_MAX,
		.left = bundle->max_bytes,
		.fault = fault,
	};
	return bundle_walk(&walk);
}

bool bundle_has(const struct bundle *bundle, const char *const *names)
{
	struct fault fault;
	struct bundle_file files[NAMES_MAX] = {0};
	struct bundle_walk walk = {
		.bundle = bundle,
		.files = files,
		.any = true,
		.entries = LOOK_ENTRIES_MAX,
		.pass = LOOK_BYTES_MAX,
		.fault = &fault,
	};
	for (; *names && walk.count < NAMES_MAX; names++)
		files[walk.count++].name = *names;
	return bundle_walk(&walk) == 0 && bundle_is_done(&walk);
}

int bundle_list(const struct bundle *bundle, size_t head, bundle_seen *seen, void *with,
		struct fault *fault)
{
	struct bundle_walk walk = {
		.bundle = bundle,
		.seen = seen,
		.with = with,
		.entries = LIST_ENTRIES_MAX,
		.pass = PASS_BYTES_MAX,
		.fault = fault,
	};
	int result = buffer_reserve(&walk.head, head);
	walk.head.size = head;
	if (!result)
		result = bundle_walk(&walk);
	buffer_deinit(&walk.head);
	return result;
}

void bundle_files_deinit(struct bundle_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buffer_deinit(&files[i].bytes);
}
