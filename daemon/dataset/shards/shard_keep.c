// SPDX-License-Identifier: MIT
#include "dataset/shards/shard_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/owner.h"
#include "base/thread_group.h"

#define MAGIC "stokshrd"
#define VERSION 4 /* raise it with every change of what is kept or how it is made */
#define ORDER 0x01020304u
#define FILE_MAX ((uint64_t)64 << 30)

struct keep_numbers {
	uint64_t count, width;
};

struct keep_labels {
	struct keep_numbers numbers;
	uint64_t rows, count, real;
};

/* In the machine's byte order. Behind it: the shards, each a version, its first sample, the size of
 * its name and the name; places and sizes of members; the keys; the labels; the names of classes;
 * the columns; and XXH3-128 of all before. */
struct keep_header {
	char magic[8];
	uint32_t version, order;
	struct digest name, fingerprint;
	uint64_t shards, samples, skipped;
	uint64_t keys_size, key_blocks, endings_size, ending_count;
	uint64_t names_size, names, columns;
	struct keep_numbers offsets, sizes;
	struct keep_labels labels;
};

struct keep_shard {
	struct storage_version version;
	uint64_t first, name_size;
};

struct keep_column {
	char name[COLUMN_NAME_MAX];
	uint64_t kind, rows, size, widest;
	struct keep_labels numbers;
};

static void digest_text(struct digest_state *digest, const char *text)
{
	digest_add_u64(digest, text ? strlen(text) + 1 : 0);
	if (text)
		digest_add(digest, text, strlen(text));
}

struct shard_keep shard_keep_of(const struct dataset_progress *progress, const char *kind,
				const struct shard_names *names, const struct dataset_spec *spec)
{
	struct shard_keep keep = {.folder = progress->keep_folder, .owner = progress->keep_owner};
	struct digest_state *digest;
	if (!keep.folder || digest_begin(&digest)) {
		keep.folder = NULL;
		return keep;
	}
	digest_text(digest, kind);
	digest_text(digest, names->root);
	digest_add_u64(digest, names->count);
	for (uint64_t i = 0; i < names->count; i++)
		digest_text(digest, names->names[i]);
	digest_text(digest, spec->image);
	digest_text(digest, spec->label);
	digest_text(digest, spec->classes);
	digest_text(digest, spec->components);
	digest_text(digest, spec->missing_component);
	keep.name = digest_end(digest);
	return keep;
}

static bool keep_path(const struct shard_keep *keep, uint32_t owner, const char *ending, char *out,
		      size_t room)
{
	char hex[33], mark[OWNER_MARK_MAX];
	digest_hex(&keep->name, hex);
	owner_mark(mark, owner);
	int size = snprintf(out, room, "%s/%s%s%s", keep->folder, hex, mark, ending);
	return size > 0 && (size_t)size < room;
}

/* -- reading ---------------------------------------------------------------------------------- */

/* Rest of a file that was read. */
struct keep_source {
	const uint8_t *at;
	uint64_t left;
};

/* `count` entries of `size` bytes, or NULL if they are not there. */
static const void *keep_take(struct keep_source *source, uint64_t count, size_t size)
{
	const uint8_t *at = source->at;
	uint64_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > source->left)
		return NULL;
	source->at += bytes;
	source->left -= bytes;
	return at;
}

/* A copy of them in memory of its own, at least one byte; *out is NULL on failure. 0 or -ENOMEM. */
static int keep_copy(struct keep_source *source, uint64_t count, size_t size, void *out)
{
	const void *from = keep_take(source, count, size);
	void *copy = from ? malloc(count ? count * size : 1) : NULL;
	if (!copy)
		return -ENOMEM;
	if (count)
		memcpy(copy, from, count * size);
	memcpy(out, &copy, sizeof(copy));
	return 0;
}

/* The whole file, checked; the caller's. NULL: there is none that can be used. */
static uint8_t *keep_read_file(const struct shard_keep *keep, uint32_t owner, uint64_t *size_out)
{
	char path[4096];
	struct stat stat;
	if (!keep->folder || !keep_path(keep, owner, ".shards", path, sizeof(path)))
		return NULL;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	uint8_t *data = NULL;
	uint64_t done = 0;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_uid == geteuid() &&
	    stat.st_size >= (off_t)sizeof(struct keep_header) && (uint64_t)stat.st_size < FILE_MAX)
		data = malloc((size_t)stat.st_size);
	while (data && done < (uint64_t)stat.st_size) {
		ssize_t part = read(fd, data + done, (size_t)stat.st_size - done);
		if (part <= 0 && errno != EINTR)
			break;
		done += part > 0 ? (uint64_t)part : 0;
	}
	(void)futimens(fd, NULL); /* the time of last use, by which the index store trims */
	close(fd);
	if (!data || done < (uint64_t)stat.st_size) {
		free(data);
		return NULL;
	}
	*size_out = done;
	return data;
}

static bool keep_is_whole(const struct shard_keep *keep, const uint8_t *data, uint64_t size)
{
	struct keep_header header;
	struct digest sum, kept;
	if (size < sizeof(header) + sizeof(kept))
		return false;
	memcpy(&header, data, sizeof(header));
	memcpy(&kept, data + size - sizeof(kept), sizeof(kept));
	sum = digest_of(data, size - sizeof(kept));
	return memcmp(header.magic, MAGIC, sizeof(header.magic)) == 0 &&
	       header.version == VERSION && header.order == ORDER &&
	       digest_equal(&header.name, &keep->name) && digest_equal(&sum, &kept);
}

/* Have all shards the version that was indexed? */
struct keep_check {
	const struct storage_folder *folder;
	const struct shard_index *index;
	atomic_bool changed;
};

static void keep_check_shard(void *context, uint64_t number)
{
	struct keep_check *check = context;
	const struct shard *shard = &check->index->shards[number];
	struct storage_version now;
	struct fault unused;
	if (!atomic_load(&check->changed) &&
	    (check->folder->storage->version(check->folder->state, shard->name, &now, &unused) ||
	     !storage_version_equal(&now, &shard->version)))
		atomic_store(&check->changed, true);
}

/* 0 or SHARD_KEEP_E_NONE: a shard has another version now. */
static int keep_check_shards(const struct storage_folder *folder, const struct shard_index *index)
{
	struct keep_check check = {.folder = folder, .index = index};
	unsigned threads = folder->storage->at_once;
	struct thread_group *group = NULL;
	if (threads > 1 && index->shard_count > 1 &&
	    thread_group_begin(&group, threads, index->shard_count, keep_check_shard, &check) ==
		    0) {
		thread_group_end(group);
	} else {
		for (uint64_t i = 0; i < index->shard_count; i++)
			keep_check_shard(&check, i);
	}
	return atomic_load(&check.changed) ? SHARD_KEEP_E_NONE : 0;
}

/* 0, SHARD_KEEP_E_NONE if these are other shards, or -ENOMEM. */
static int keep_read_shards(struct keep_source *source, const struct keep_header *header,
			    const struct shard_names *names, struct shard_index *index)
{
	if (header->shards != names->count)
		return SHARD_KEEP_E_NONE;
	index->shards = calloc(names->count, sizeof(*index->shards));
	if (!index->shards)
		return -ENOMEM;
	index->shard_capacity = names->count;
	for (uint64_t i = 0; i < names->count; i++) {
		struct keep_shard shard;
		const void *kept = keep_take(source, 1, sizeof(shard));
		if (!kept)
			return SHARD_KEEP_E_NONE;
		memcpy(&shard, kept, sizeof(shard));
		const char *name = keep_take(source, shard.name_size, 1);
		if (!name || strlen(names->names[i]) != shard.name_size ||
		    memcmp(name, names->names[i], shard.name_size) != 0)
			return SHARD_KEEP_E_NONE;
		index->shards[i] =
			(struct shard){strdup(names->names[i]), shard.version, shard.first};
		if (!index->shards[i].name)
			return -ENOMEM;
		index->shard_count++;
	}
	return 0;
}

static int keep_read_keys(struct keep_source *source, const struct keep_header *header,
			  struct key_list *keys)
{
	if (keep_copy(source, header->keys_size, 1, &keys->data) ||
	    keep_copy(source, header->key_blocks, sizeof(*keys->blocks), &keys->blocks) ||
	    keep_copy(source, header->endings_size, 1, &keys->endings))
		return -ENOMEM;
	keys->count = header->samples;
	keys->size = keys->capacity = header->keys_size;
	keys->block_count = keys->block_capacity = header->key_blocks;
	keys->endings_size = keys->endings_capacity = header->endings_size;
	keys->ending_count = (uint32_t)header->ending_count;
	return 0;
}

static int keep_read_numbers(struct keep_source *source, const struct keep_numbers *kept,
			     struct number_list *list)
{
	*list = (struct number_list){.count = kept->count, .width = (uint8_t)kept->width};
	if (keep_copy(source, kept->count, list->width, &list->data))
		return -ENOMEM;
	list->capacity = kept->count * list->width;
	return 0;
}

static int keep_read_labels(struct keep_source *source, const struct keep_labels *kept,
			    struct labels *labels)
{
	labels->rows = kept->rows;
	labels->count = (uint32_t)kept->count;
	labels->real = kept->real != 0;
	return keep_read_numbers(source, &kept->numbers, &labels->numbers);
}

static int keep_read_classes(struct keep_source *source, const struct keep_header *header,
			     struct shard_index *index)
{
	struct class_names *names = &index->names;
	if (keep_copy(source, header->names_size, 1, &names->text) ||
	    keep_copy(source, header->names, sizeof(*names->names), &names->names) ||
	    keep_copy(source, header->names, sizeof(*index->classes), &index->classes))
		return -ENOMEM;
	names->size = names->capacity = header->names_size;
	names->count = names->names_capacity = header->names;
	return 0;
}

static int keep_read_column(struct keep_source *source, struct column *column)
{
	struct keep_column kept;
	const void *from = keep_take(source, 1, sizeof(kept));
	if (!from)
		return -ENOMEM;
	memcpy(&kept, from, sizeof(kept));
	*column = (struct column){.kind = (enum column_kind)kept.kind,
				  .size = kept.size,
				  .capacity = kept.size,
				  .rows = kept.rows,
				  .ends_capacity = kept.rows,
				  .widest = kept.widest};
	memcpy(column->name, kept.name, sizeof(kept.name));
	if (keep_read_labels(source, &kept.numbers, &column->numbers) ||
	    keep_copy(source, kept.size, 1, &column->data) ||
	    keep_copy(source, kept.rows, sizeof(*column->ends), &column->ends))
		return -ENOMEM;
	return 0;
}

static int keep_parse(struct keep_source *source, const struct storage_folder *folder,
		      const struct shard_names *names, struct shard_index *index,
		      uint64_t *skipped_out)
{
	struct keep_header header;
	memcpy(&header, keep_take(source, 1, sizeof(header)), sizeof(header));
	int result = keep_read_shards(source, &header, names, index);
	if (!result)
		result = keep_check_shards(folder, index);
	if (result)
		return result;
	if (header.columns > COLUMNS_MAX ||
	    keep_read_numbers(source, &header.offsets, &index->offsets) ||
	    keep_read_numbers(source, &header.sizes, &index->sizes) ||
	    keep_read_keys(source, &header, &index->keys) ||
	    keep_read_labels(source, &header.labels, &index->labels) ||
	    keep_read_classes(source, &header, index))
		return -ENOMEM;
	index->count = header.samples;
	for (; index->columns.count < header.columns && !result; index->columns.count++)
		result = keep_read_column(source, &index->columns.column[index->columns.count]);
	index->columns.rows = index->count;
	index->fingerprint = header.fingerprint;
	*skipped_out = header.skipped;
	return result;
}

int shard_keep_load(const struct shard_keep *keep, const struct storage_folder *folder,
		    const struct shard_names *names, struct shard_index **out,
		    uint64_t *skipped_out)
{
	uint64_t size = 0;
	uint8_t *data = keep_read_file(keep, keep->owner, &size);
	if (!data && keep->owner != OWNER_OF_ALL)
		data = keep_read_file(keep, OWNER_OF_ALL, &size);
	struct shard_index *index = data ? calloc(1, sizeof(*index)) : NULL;
	int result = SHARD_KEEP_E_NONE;
	if (index && keep_is_whole(keep, data, size)) {
		struct keep_source source = {data, size - sizeof(struct digest)};
		result = keep_parse(&source, folder, names, index, skipped_out);
	}
	free(data);
	if (result)
		shard_index_free(index);
	else
		*out = index;
	return result;
}

/* -- writing ---------------------------------------------------------------------------------- */

struct keep_sink {
	FILE *file;
	struct digest_state *digest;
	bool failed;
};

static void keep_put(struct keep_sink *sink, const void *data, uint64_t count, size_t size)
{
	if (count == 0)
		return;
	digest_add(sink->digest, data, count * size);
	sink->failed = sink->failed || fwrite(data, size, count, sink->file) != count;
}

static void keep_put_numbers(struct keep_sink *sink, const struct number_list *list)
{
	keep_put(sink, list->data, list->count, list->width);
}

static struct keep_numbers keep_numbers_of(const struct number_list *list)
{
	return (struct keep_numbers){list->count, list->width};
}

static struct keep_labels keep_labels_of(const struct labels *labels)
{
	return (struct keep_labels){keep_numbers_of(&labels->numbers), labels->rows, labels->count,
				    labels->real};
}

static void keep_put_column(struct keep_sink *sink, const struct column *column)
{
	struct keep_column kept = {.kind = column->kind,
				   .rows = column->rows,
				   .size = column->size,
				   .widest = column->widest,
				   .numbers = keep_labels_of(&column->numbers)};
	memcpy(kept.name, column->name, sizeof(kept.name));
	keep_put(sink, &kept, 1, sizeof(kept));
	keep_put_numbers(sink, &column->numbers.numbers);
	keep_put(sink, column->data, column->size, 1);
	keep_put(sink, column->ends, column->rows, sizeof(*column->ends));
}

static void keep_put_header(struct keep_sink *sink, const struct shard_keep *keep,
			    const struct shard_index *index, uint64_t skipped)
{
	const struct key_list *keys = &index->keys;
	struct keep_header header = {.version = VERSION,
				     .order = ORDER,
				     .name = keep->name,
				     .fingerprint = index->fingerprint,
				     .shards = index->shard_count,
				     .samples = index->count,
				     .skipped = skipped,
				     .keys_size = keys->size,
				     .key_blocks = keys->block_count,
				     .endings_size = keys->endings_size,
				     .ending_count = keys->ending_count,
				     .names_size = index->names.size,
				     .names = index->names.count,
				     .columns = index->columns.count,
				     .offsets = keep_numbers_of(&index->offsets),
				     .sizes = keep_numbers_of(&index->sizes),
				     .labels = keep_labels_of(&index->labels)};
	memcpy(header.magic, MAGIC, sizeof(header.magic));
	keep_put(sink, &header, 1, sizeof(header));
}

static void keep_put_all(struct keep_sink *sink, const struct shard_keep *keep,
			 const struct shard_index *index, uint64_t skipped)
{
	const struct key_list *keys = &index->keys;
	const struct class_names *names = &index->names;
	keep_put_header(sink, keep, index, skipped);
	for (uint64_t i = 0; i < index->shard_count; i++) {
		const struct shard *shard = &index->shards[i];
		struct keep_shard kept = {shard->version, shard->first, strlen(shard->name)};
		keep_put(sink, &kept, 1, sizeof(kept));
		keep_put(sink, shard->name, kept.name_size, 1);
	}
	keep_put_numbers(sink, &index->offsets);
	keep_put_numbers(sink, &index->sizes);
	keep_put(sink, keys->data, keys->size, 1);
	keep_put(sink, keys->blocks, keys->block_count, sizeof(*keys->blocks));
	keep_put(sink, keys->endings, keys->endings_size, 1);
	keep_put_numbers(sink, &index->labels.numbers);
	keep_put(sink, names->text, names->size, 1);
	keep_put(sink, names->names, names->count, sizeof(*names->names));
	keep_put(sink, index->classes, names->count, sizeof(*index->classes));
	for (unsigned i = 0; i < index->columns.count; i++)
		keep_put_column(sink, &index->columns.column[i]);
	struct digest sum = digest_end(sink->digest);
	sink->failed = sink->failed || fwrite(&sum, sizeof(sum), 1, sink->file) != 1;
}

bool shard_keep_save(const struct shard_keep *keep, const struct shard_index *index,
		     uint64_t skipped)
{
	char path[4096], fresh[4096], ending[64];
	uint64_t number = 0;
	if (!keep->folder || getrandom(&number, sizeof(number), 0) < 0)
		return false;
	snprintf(ending, sizeof(ending), ".%016llx.new", (unsigned long long)number);
	if (!keep_path(keep, keep->owner, ".shards", path, sizeof(path)) ||
	    !keep_path(keep, keep->owner, ending, fresh, sizeof(fresh)))
		return false;
	int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct keep_sink sink = {.file = fd < 0 ? NULL : fdopen(fd, "w"), .failed = fd < 0};
	if (fd >= 0 && !sink.file)
		close(fd);
	if (sink.file && digest_begin(&sink.digest) == 0)
		keep_put_all(&sink, keep, index, skipped);
	else
		sink.failed = true;
	if (sink.file && fclose(sink.file) != 0)
		sink.failed = true;
	if (!sink.failed && rename(fresh, path) == 0)
		return true;
	(void)unlink(fresh);
	return false;
}
