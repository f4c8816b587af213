// SPDX-License-Identifier: MIT
#include "dataset/shards/shard_keep.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread_group.h"

#define MAGIC "stokshrd"
#define VERSION 4 /* raise it with every change of what is kept or how it is made */

struct keep_numbers {
	uint64_t count, width;
};

struct keep_labels {
	struct keep_numbers numbers;
	uint64_t rows, count, real;
};

/* Behind it: the shards, each a version, its first sample, the size of
 * its name and the name; places and sizes of members; the keys; the labels; the names of classes;
 * the columns; and XXH3-128 of all before. */
struct keep_header {
	struct keep_head head;
	struct digest fingerprint;
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

struct keep_file shard_keep_of(const struct dataset_progress *progress, const char *kind,
			       const struct shard_names *names, const struct dataset_spec *spec)
{
	struct keep_file keep = {.folder = progress->keep_folder,
				 .ending = ".shards",
				 .owner = progress->keep_owner};
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

/* -- reading ---------------------------------------------------------------------------------- */

/* A copy of `count` entries in memory of its own, at least one byte; *out is NULL on failure. 0 or
 * -ENOMEM. */
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
	const void *kept = keep_take(source, 1, sizeof(header));
	if (!kept)
		return SHARD_KEEP_E_NONE;
	memcpy(&header, kept, sizeof(header));
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

int shard_keep_load(const struct keep_file *keep, const struct storage_folder *folder,
		    const struct shard_names *names, struct shard_index **out,
		    uint64_t *skipped_out)
{
	const struct keep_head head = keep_head_of(keep, MAGIC, VERSION);
	struct keep_source source = {.left = 0};
	uint8_t *data = keep_file_read(keep, &head, &source.left);
	struct shard_index *index = data ? calloc(1, sizeof(*index)) : NULL;
	source.at = data;
	int result =
		index ? keep_parse(&source, folder, names, index, skipped_out) : SHARD_KEEP_E_NONE;
	free(data);
	if (result)
		shard_index_free(index);
	else
		*out = index;
	return result;
}

/* -- writing ---------------------------------------------------------------------------------- */

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

static void keep_put_header(struct keep_sink *sink, const struct keep_file *keep,
			    const struct shard_index *index, uint64_t skipped)
{
	const struct key_list *keys = &index->keys;
	struct keep_header header = {.head = keep_head_of(keep, MAGIC, VERSION),
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
	keep_put(sink, &header, 1, sizeof(header));
}

static void keep_put_all(struct keep_sink *sink, const struct keep_file *keep,
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
}

bool shard_keep_save(const struct keep_file *keep, const struct shard_index *index,
		     uint64_t skipped)
{
	struct keep_sink *sink = keep_sink_begin(keep);
	if (sink)
		keep_put_all(sink, keep, index, skipped);
	return keep_sink_end(sink);
}
