// SPDX-License-Identifier: MIT
#include "dataset/index.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dataset/class_names.h"

enum stream_tag { TAG_CLASS = 1, TAG_SAMPLE = 2, TAG_LABELS = 3, TAG_END = 4, TAG_COLUMN = 5 };

/* The offset of the name has 48 bits, which makes 12 bytes an entry instead of 16. */
struct index_entry {
	uint32_t directory;
	uint32_t name_low;
	uint16_t name_high;
	uint16_t name_size;
};

struct index_directory {
	uint64_t path; /* offset in `names` */
	uint32_t path_size;
	uint32_t class;
};

struct index {
	const char *kind;
	char *names; /* paths of directories, names of files (not terminated) and of classes */
	uint64_t names_size, names_capacity;
	struct index_entry *entries;
	uint64_t count, entries_capacity;
	_Atomic uint32_t *glances; /* of the first samples; of those behind nothing was seen */
	uint64_t glance_count, glances_capacity;
	struct index_directory *directories;
	uint64_t directory_count, directories_capacity;
	uint64_t *classes; /* offsets in `names` of terminated texts */
	uint64_t class_count, classes_capacity;
	struct labels labels;
	struct columns columns;
	struct digest fingerprint, named_fingerprint;
	bool unsized, nameless;

	/* While it is built. */
	struct digest_state *digest, *names_digest; /* the latter may be NULL */
	uint32_t *table; /* a hash table of directories by path: numbers + 1, 0 is empty */
	uint64_t table_size, table_used;
	struct class_names named; /* the labels are numbers of these; none: they are numbers */
};

static void index_digest_text(struct digest_state *digest, const char *text, size_t size)
{
	digest_add_u64(digest, size);
	digest_add(digest, text, size);
}

static void index_digest_kind(struct digest_state *digest, const char *kind)
{
	static const char head[] = "stoker dataset 1";
	index_digest_text(digest, head, strlen(head));
	index_digest_text(digest, kind, strlen(kind));
}

int index_new(struct index **out, const char *kind)
{
	struct index *index = calloc(1, sizeof(*index));
	if (!index)
		return -ENOMEM;
	if (digest_begin(&index->digest)) {
		free(index);
		return -ENOMEM;
	}
	index->kind = kind;
	index_digest_kind(index->digest, kind);
	*out = index;
	return 0;
}

int index_digest_names(struct index *index)
{
	if (digest_begin(&index->names_digest))
		return -ENOMEM;
	index_digest_kind(index->names_digest, index->kind);
	return 0;
}

void index_hold_no_names(struct index *index)
{
	index->nameless = true;
}

void index_lose_sizes(struct index *index)
{
	index->unsized = true;
}

void index_free(struct index *index)
{
	if (!index)
		return;
	if (index->digest)
		digest_end(index->digest);
	if (index->names_digest)
		digest_end(index->names_digest);
	class_names_deinit(&index->named);
	labels_deinit(&index->labels);
	columns_deinit(&index->columns);
	free(index->names);
	free(index->entries);
	free(index->glances);
	free(index->directories);
	free(index->classes);
	free(index->table);
	free(index);
}

static int index_add_name(struct index *index, const char *name, size_t size, uint64_t *at_out)
{
	if (ARRAY_RESERVE(index->names, index->names_capacity, index->names_size + size))
		return -ENOMEM;
	if (size)
		memcpy(index->names + index->names_size, name, size);
	*at_out = index->names_size;
	index->names_size += size;
	return 0;
}

int index_add_class(struct index *index, const char *name, size_t size)
{
	uint64_t at, end;
	if (ARRAY_RESERVE(index->classes, index->classes_capacity, index->class_count + 1) ||
	    index_add_name(index, name, size, &at) || index_add_name(index, "", 1, &end))
		return -ENOMEM;
	index->classes[index->class_count++] = at;
	struct digest_state *const digests[] = {index->digest, index->names_digest};
	for (unsigned i = 0; i < sizeof(digests) / sizeof(*digests) && digests[i]; i++) {
		digest_add_u64(digests[i], TAG_CLASS);
		index_digest_text(digests[i], name, size);
	}
	return 0;
}

int index_add_directory(struct index *index, const char *path, size_t size, uint32_t class,
			uint32_t *number_out)
{
	if (index->directory_count == INDEX_DIRECTORIES_MAX)
		return INDEX_E_FULL;
	uint64_t at;
	if (ARRAY_RESERVE(index->directories, index->directories_capacity,
			  index->directory_count + 1) ||
	    index_add_name(index, path, size, &at))
		return -ENOMEM;
	index->directories[index->directory_count] =
		(struct index_directory){.path = at, .path_size = (uint32_t)size, .class = class};
	*number_out = (uint32_t)index->directory_count++;
	return 0;
}

/* The slot of the hash table that holds this path, or that it would be put in. */
static uint64_t index_slot(const struct index *index, const char *path, size_t size)
{
	struct digest digest = digest_of(path, size);
	uint64_t slot;
	memcpy(&slot, digest.bytes, sizeof(slot));
	for (;; slot++) {
		slot &= index->table_size - 1;
		if (index->table[slot] == 0)
			return slot;
		const struct index_directory *directory =
			&index->directories[index->table[slot] - 1];
		if (directory->path_size == size &&
		    memcmp(index->names + directory->path, path, size) == 0)
			return slot;
	}
}

/* Make room for one more directory; the hash table stays at most half full. */
static int index_grow_table(struct index *index)
{
	if (index->table_used * 2 < index->table_size)
		return 0;
	uint64_t old_size = index->table_size;
	uint32_t *old = index->table;
	uint64_t size = old_size ? old_size * 2 : 1024;
	uint32_t *table = calloc(size, sizeof(*table));
	if (!table)
		return -ENOMEM;
	index->table = table;
	index->table_size = size;
	for (uint64_t i = 0; i < old_size; i++) {
		if (old[i] == 0)
			continue;
		const struct index_directory *directory = &index->directories[old[i] - 1];
		uint64_t slot =
			index_slot(index, index->names + directory->path, directory->path_size);
		index->table[slot] = old[i];
	}
	free(old);
	return 0;
}

int index_find_directory(struct index *index, const char *path, size_t size, uint32_t *number_out)
{
	if (index_grow_table(index))
		return -ENOMEM;
	uint64_t slot = index_slot(index, path, size);
	if (index->table[slot]) {
		*number_out = index->table[slot] - 1;
		return 0;
	}
	int result = index_add_directory(index, path, size, INDEX_NO_CLASS, number_out);
	if (result)
		return result;
	index->table[slot] = *number_out + 1;
	index->table_used++;
	return 0;
}

static void put_u64(uint8_t *to, uint64_t number)
{
	for (unsigned i = 0; i < 8; i++)
		to[i] = (uint8_t)(number >> 8 * i);
}

/* In one piece: there are millions. */
static void index_digest_sample(struct index *index, const struct index_directory *directory,
				const char *name, size_t size, uint64_t bytes)
{
	uint8_t record[INDEX_PATH_MAX + 4 * sizeof(uint64_t)];
	size_t slash = directory->path_size ? 1 : 0, at = 2 * sizeof(uint64_t);
	assert(directory->path_size + slash + size < INDEX_PATH_MAX);
	put_u64(record, TAG_SAMPLE);
	put_u64(record + 8, directory->path_size + slash + size);
	memcpy(record + at, index->names + directory->path, directory->path_size);
	at += directory->path_size;
	record[at] = '/';
	memcpy(record + at + slash, name, size);
	at += slash + size;
	put_u64(record + at, bytes);
	put_u64(record + at + 8, directory->class);
	if (!index->unsized)
		digest_add(index->digest, record, at + 16);
	put_u64(record + at, INDEX_NO_SIZE);
	if (index->names_digest)
		digest_add(index->names_digest, record, at + 16);
}

static int index_add_entry(struct index *index, uint32_t directory, const char *name, size_t size)
{
	uint64_t at;
	if (ARRAY_RESERVE(index->entries, index->entries_capacity, index->count + 1) ||
	    index_add_name(index, name, size, &at))
		return -ENOMEM;
	index->entries[index->count] = (struct index_entry){
		.directory = directory,
		.name_low = (uint32_t)at,
		.name_high = (uint16_t)(at >> 32),
		.name_size = (uint16_t)size,
	};
	return 0;
}

int index_add(struct index *index, uint32_t directory, const char *name, size_t size,
	      uint64_t bytes)
{
	if (index->count == INDEX_SAMPLES_MAX)
		return INDEX_E_FULL;
	int result = index->nameless ? 0 : index_add_entry(index, directory, name, size);
	if (result)
		return result;
	index->count++;
	index_digest_sample(index, &index->directories[directory], name, size, bytes);
	return 0;
}

/* Glances of all samples up to `count`, of which nothing was seen. */
static int index_fill_glances(struct index *index, uint64_t count)
{
	if (ARRAY_RESERVE(index->glances, index->glances_capacity, count))
		return -ENOMEM;
	while (index->glance_count < count)
		atomic_init(&index->glances[index->glance_count++], 0);
	return 0;
}

int index_add_glance(struct index *index, uint32_t glance)
{
	if (glance == 0)
		return 0;
	if (index_fill_glances(index, index->count))
		return -ENOMEM;
	atomic_init(&index->glances[index->count - 1], glance);
	return 0;
}

bool index_see(struct index *index, uint64_t sample, uint32_t glance)
{
	uint32_t none = 0;
	return atomic_compare_exchange_strong(&index->glances[sample], &none, glance) ||
	       none == glance;
}

bool index_see_all(struct index *index, const struct index *of)
{
	bool same = index->count == of->count;
	for (uint64_t i = 0; i < of->count && same; i++)
		same = index_see(index, i, index_glance(of, i));
	return same;
}

int index_forget(struct index *index)
{
	for (uint64_t i = 0; i < index->glance_count; i++)
		atomic_store_explicit(&index->glances[i], 0, memory_order_relaxed);
	return index_fill_glances(index, index->count);
}

uint32_t index_glance(const struct index *index, uint64_t sample)
{
	return sample < index->glance_count
		       ? atomic_load_explicit(&index->glances[sample], memory_order_relaxed)
		       : 0;
}

int index_add_labels(struct index *index, const struct label *row, uint32_t count)
{
	return labels_add(&index->labels, row, count);
}

int index_add_class_label(struct index *index, const char *name, size_t size)
{
	uint32_t number;
	if (class_names_add(&index->named, name, size, &number))
		return -ENOMEM;
	return labels_add(&index->labels, &(struct label){.whole = number}, 1);
}

int index_add_cells(struct index *index, const struct cell *cells, unsigned count,
		    struct fault *fault)
{
	return columns_add(&index->columns, cells, count, fault);
}

/* The names that labels have become the classes, in order. */
static int index_number_classes(struct index *index)
{
	const struct class_names *named = &index->named;
	uint32_t *sorted = class_names_sorted(named);
	uint32_t *rank = malloc((named->count ? named->count : 1) * sizeof(*rank));
	int result = sorted && rank ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < named->count && !result; i++) {
		const char *name = class_names_text(named, sorted[i]);
		rank[sorted[i]] = i;
		result = index_add_class(index, name, strlen(name));
	}
	if (!result && named->count)
		labels_rename(&index->labels, rank);
	free(sorted);
	free(rank);
	class_names_deinit(&index->named);
	return result;
}

struct digest index_digest_end(struct digest_state *digest, const struct labels *labels,
			       const struct columns *columns, uint64_t samples)
{
	if (labels->rows) {
		digest_add_u64(digest, TAG_LABELS);
		labels_digest(labels, digest);
	}
	for (unsigned i = 0; i < columns->count; i++) {
		digest_add_u64(digest, TAG_COLUMN);
		column_digest(&columns->column[i], digest);
	}
	digest_add_u64(digest, TAG_END);
	digest_add_u64(digest, samples);
	return digest_end(digest);
}

int index_finish(struct index *index)
{
	int result = index_number_classes(index);
	if (result)
		return result;
	if (index->unsized && !index->nameless && index_fill_glances(index, index->count))
		return -ENOMEM;
	index->fingerprint =
		index_digest_end(index->digest, &index->labels, &index->columns, index->count);
	index->digest = NULL;
	if (index->names_digest)
		index->named_fingerprint = index_digest_end(index->names_digest, &index->labels,
							    &index->columns, index->count);
	index->names_digest = NULL;
	free(index->table);
	index->table = NULL;
	index->table_size = index->table_used = 0;
	ARRAY_SHRINK(index->names, index->names_capacity, index->names_size);
	ARRAY_SHRINK(index->entries, index->entries_capacity, index->count);
	ARRAY_SHRINK(index->glances, index->glances_capacity, index->glance_count);
	ARRAY_SHRINK(index->directories, index->directories_capacity, index->directory_count);
	ARRAY_SHRINK(index->classes, index->classes_capacity, index->class_count);
	labels_shrink(&index->labels);
	columns_shrink(&index->columns);
	return 0;
}

uint64_t index_count(const struct index *index)
{
	return index->count;
}

struct digest index_fingerprint(const struct index *index)
{
	return index->fingerprint;
}

struct digest index_names(const struct index *index)
{
	return index->named_fingerprint;
}

bool index_is_sized(const struct index *index)
{
	return !index->unsized;
}

size_t index_bytes(const struct index *index)
{
	return sizeof(*index) + index->names_capacity +
	       index->entries_capacity * sizeof(*index->entries) +
	       index->glances_capacity * sizeof(*index->glances) +
	       index->directories_capacity * sizeof(*index->directories) +
	       index->classes_capacity * sizeof(*index->classes) + index->labels.numbers.capacity +
	       columns_bytes(&index->columns) + index->table_size * sizeof(*index->table);
}

uint32_t index_class_count(const struct index *index)
{
	return (uint32_t)index->class_count;
}

const char *index_class_name(const struct index *index, uint32_t class)
{
	return index->names + index->classes[class];
}

const struct labels *index_labels(const struct index *index)
{
	return index->labels.rows ? &index->labels : NULL;
}

const struct columns *index_columns(const struct index *index)
{
	return &index->columns;
}

uint32_t index_class(const struct index *index, uint64_t sample)
{
	return index->directories[index->entries[sample].directory].class;
}

size_t index_path(const struct index *index, uint64_t sample, char *out, size_t size)
{
	const struct index_entry *entry = &index->entries[sample];
	const struct index_directory *directory = &index->directories[entry->directory];
	uint64_t name = (uint64_t)entry->name_high << 32 | entry->name_low;
	const struct {
		const char *data;
		size_t size;
	} parts[] = {
		{index->names + directory->path, directory->path_size},
		{"/", directory->path_size ? 1 : 0},
		{index->names + name, entry->name_size},
	};
	size_t whole = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (whole < size) {
			size_t room = size - whole;
			memcpy(out + whole, parts[i].data,
			       parts[i].size < room ? parts[i].size : room);
		}
		whole += parts[i].size;
	}
	if (size)
		out[whole < size ? whole : size - 1] = '\0';
	return whole;
}
