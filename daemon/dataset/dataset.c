// SPDX-License-Identifier: MIT
#include "dataset/dataset.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "base/url.h"
#include "dataset/code.h"
#include "dataset/first_read.h"
#include "dataset/folder_watch.h"
#include "dataset/kind.h"
#include "dataset/sources.h"
#include "storage/storage.h"

#define WHERE_FILES 8
/* Files of a dataset that dataset_is_current() looks at one by one, at most: where the kernel tells
 * what happens, and where each attach looks. */
#define LOOK_FILES 16384
#define LOOK_FILES_AGAIN 1024

struct dataset {
	const struct dataset_kind *kind;
	void *state;
	struct dataset_facts facts;
	struct digest_secret secret; /* of the stamps */
	/* Of each file. calloc() takes memory from the system only for pages that are written. */
	struct first_read *first_reads;
	struct digest where; /* some of its files lie there */
	bool far;
	const struct column *mask; /* NULL: there is none */
	struct first_read *first_masks;
	struct sources sources;	   /* what it was opened by */
	struct folder_watch watch; /* of its folders, once somebody asked whether it is current */
};

static int dataset_make_first_reads(struct dataset *dataset)
{
	dataset->first_reads = calloc(dataset->facts.count, sizeof(*dataset->first_reads));
	if (dataset->mask)
		dataset->first_masks = calloc(dataset->facts.count, sizeof(*dataset->first_masks));
	return dataset->first_reads && (!dataset->mask || dataset->first_masks) ? 0 : -ENOMEM;
}

static int dataset_prepare_reads(struct dataset *dataset, struct fault *fault)
{
	const struct columns *columns = dataset_columns(dataset);
	for (unsigned i = 0; i < columns->count; i++) {
		if (columns->column[i].kind != COLUMN_MASK)
			continue;
		if (dataset->mask)
			return fault_say(fault, DATASET_E_OPEN,
					 "the samples have two of mask, mask16 and panoptic: leave "
					 "out one; mask16 takes numbers above 255");
		dataset->mask = &columns->column[i];
	}
	if (dataset_make_first_reads(dataset))
		return -ENOMEM;
	int r = digest_secret_make(&dataset->secret);
	return r ? fault_say(fault, DATASET_E_OPEN, "no random numbers (getrandom): %s",
			     strerror(-r))
		 : 0;
}

/* The inodes of some files, without reading them; of objects the description says enough. Others
 * can have links to these few only where they may write the files (fs.protected_hardlinks). */
static struct digest dataset_find_out_where(const struct dataset *dataset, bool remote)
{
	struct {
		uint64_t device, inode;
	} files[WHERE_FILES] = {{0}};
	for (uint64_t i = 0; !remote && i < WHERE_FILES; i++) {
		struct storage_version version;
		uint64_t sample = (dataset->facts.count - 1) * i / (WHERE_FILES - 1);
		if (dataset->kind->version(dataset->state, sample, &version))
			continue;
		files[i].device = version.device;
		files[i].inode = version.inode;
	}
	return digest_of(files, sizeof(files));
}

static bool dataset_spec_is_far(const struct dataset_spec *spec)
{
	const char *const paths[] = {spec->path, spec->root};
	bool far = false;
	for (uint32_t i = 0; i < spec->part_count; i++)
		far = far || dataset_spec_is_far(&spec->parts[i]);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		const struct storage *storage = paths[i] ? storage_of(paths[i]) : NULL;
		far = far || (storage && storage->at_once > 1);
	}
	return far;
}

/* As the kind's open(), which notes what it looks at. A list or an array that was written to while
 * it was read may be half an old and half a new one. */
static int dataset_fill(struct dataset *dataset, const struct dataset_spec *spec,
			struct dataset_progress *progress, struct fault *fault)
{
	struct sources *outer = progress->sources;
	struct quote quote;
	progress->sources = &dataset->sources;
	int result = dataset->kind->open(&dataset->state, spec, progress, &dataset->facts, fault);
	progress->sources = outer;
	dataset->facts.index_bytes += dataset->sources.capacity;
	if (!result && !dataset->far && !sources_hold(&dataset->sources, spec, NULL))
		return fault_say(
			fault, DATASET_E_OPEN,
			"%s was changed while it was read: open it when it changes no more",
			quote_text(&quote, spec->path));
	return result;
}

int dataset_open_as(struct dataset **out, const struct dataset_kind *kind,
		    const struct dataset_spec *spec, struct dataset_progress *progress,
		    struct fault *fault)
{
	struct dataset *dataset = calloc(1, sizeof(*dataset));
	if (!dataset)
		return -ENOMEM;
	dataset->kind = kind;
	folder_watch_init(&dataset->watch);
	dataset->far = dataset_spec_is_far(spec);
	int result = dataset_fill(dataset, spec, progress, fault);
	if (!result && kind->read)
		result = dataset_prepare_reads(dataset, fault);
	if (!result && kind->read)
		dataset->where = dataset_find_out_where(dataset, url_scheme(spec->path));
	if (result) {
		dataset_free(dataset);
		return result < 0 ? fault_say(fault, result, "out of memory for the index")
				  : result;
	}
	*out = dataset;
	return 0;
}

void dataset_free(struct dataset *dataset)
{
	if (!dataset)
		return;
	dataset->kind->free(dataset->state);
	free(dataset->first_reads);
	free(dataset->first_masks);
	sources_deinit(&dataset->sources);
	folder_watch_deinit(&dataset->watch);
	free(dataset);
}

uint64_t dataset_count(const struct dataset *dataset)
{
	return dataset->facts.count;
}

uint64_t dataset_skipped(const struct dataset *dataset)
{
	return dataset->facts.skipped;
}

const char *dataset_note(const struct dataset *dataset)
{
	return dataset->facts.note.text;
}

uint32_t dataset_part_count(const struct dataset *dataset)
{
	return dataset->facts.parts;
}

const struct dataset *dataset_part(const struct dataset *dataset, uint32_t part)
{
	assert(part < dataset->facts.parts);
	return dataset->facts.part[part];
}

uint64_t dataset_part_first(const struct dataset *dataset, uint32_t part)
{
	assert(part <= dataset->facts.parts);
	return dataset->facts.part_first[part];
}

uint32_t dataset_shard_count(const struct dataset *dataset)
{
	return dataset->facts.shards;
}

uint64_t dataset_shard_first(const struct dataset *dataset, uint32_t shard)
{
	assert(shard <= dataset->facts.shards);
	return dataset->kind->shard_first(dataset->state, shard);
}

const char *dataset_kind_name(const struct dataset *dataset)
{
	return dataset->kind->name;
}

struct digest dataset_fingerprint(const struct dataset *dataset)
{
	return dataset->facts.fingerprint;
}

bool dataset_names(const struct dataset *dataset, struct digest *out)
{
	static const struct digest none;
	*out = dataset->facts.names;
	return !digest_equal(out, &none);
}

bool dataset_is_sized(const struct dataset *dataset)
{
	return !dataset->facts.unsized;
}

int dataset_look(const struct dataset *dataset, struct dataset_progress *progress,
		 struct digest *fingerprint_out, struct fault *fault)
{
	return dataset->kind->look(dataset->state, progress, fingerprint_out, fault);
}

void dataset_complete(struct dataset *dataset, const struct digest *fingerprint)
{
	dataset->facts.fingerprint = *fingerprint;
	dataset->facts.unsized = false;
}

struct digest dataset_identity(const struct dataset *dataset)
{
	struct digest names;
	return dataset_names(dataset, &names) ? names : dataset_fingerprint(dataset);
}

bool dataset_same_files(const struct dataset *a, const struct dataset *b)
{
	const struct digest of_a = dataset_identity(a), of_b = dataset_identity(b);
	if (a->facts.parts != b->facts.parts || !digest_equal(&of_a, &of_b) ||
	    !digest_equal(&a->where, &b->where))
		return false;
	for (uint32_t i = 0; i < a->facts.parts; i++)
		if (!dataset_same_files(a->facts.part[i], b->facts.part[i]))
			return false;
	return true;
}

/* Are those that were read, or seen by a listing, as they were? */
static bool dataset_files_hold(struct dataset *dataset)
{
	const struct dataset_kind *kind = dataset->kind;
	if (!kind->version || dataset->facts.shards || dataset->far)
		return true;
	if (dataset->facts.count > LOOK_FILES)
		return !atomic_load(&dataset->watch.written);
	if (kind->watch)
		kind->watch(dataset->state, &dataset->watch);
	if (dataset->facts.count > LOOK_FILES_AGAIN && atomic_load(&dataset->watch.broken))
		return true;
	for (uint64_t sample = 0; sample < dataset->facts.count; sample++) {
		struct storage_version version;
		uint64_t read = atomic_load(&dataset->first_reads[sample].version);
		int result = kind->version(dataset->state, sample, &version);
		if (result == DATASET_E_CHANGED || (result && read) ||
		    (!result && read && read != storage_version_mark(&version)))
			return false;
	}
	return true;
}

bool dataset_is_current(struct dataset *dataset, const struct dataset_spec *spec)
{
	for (uint32_t i = 0; i < dataset->facts.parts; i++)
		if (!dataset_is_current(dataset->facts.part[i], &spec->parts[i]))
			return false;
	uint64_t begun = folder_watch_begin(&dataset->watch);
	bool current = sources_hold(&dataset->sources, spec, &dataset->watch) &&
		       dataset_files_hold(dataset);
	if (current)
		folder_watch_end(&dataset->watch, begun);
	return current;
}

bool dataset_is_still(struct dataset *dataset, const struct dataset_spec *spec)
{
	for (uint32_t i = 0; i < dataset->facts.parts; i++)
		if (!dataset_is_still(dataset->facts.part[i], &spec->parts[i]))
			return false;
	return folder_watch_is_calm(&dataset->watch) && sources_hold_still(&dataset->sources, spec);
}

/* Behind a link, or where one leads nowhere, what happens moves no stamp of a folder. */
bool dataset_can_rest(const struct dataset *dataset)
{
	return dataset->kind->wake && dataset_is_sized(dataset) && !dataset->far &&
	       dataset->facts.skipped == 0 && !sources_have(&dataset->sources, SOURCE_LINK);
}

void dataset_rest(struct dataset *dataset)
{
	dataset->kind->rest(dataset->state);
	folder_watch_deinit(&dataset->watch);
	folder_watch_init(&dataset->watch);
	free(dataset->first_reads);
	free(dataset->first_masks);
	dataset->first_reads = dataset->first_masks = NULL;
}

bool dataset_wake(struct dataset *dataset, const struct dataset_spec *spec)
{
	bool forget = dataset->facts.count > LOOK_FILES;
	struct fault unused;
	if (dataset_make_first_reads(dataset) ||
	    dataset->kind->wake(dataset->state, spec, forget, &unused) ||
	    !dataset_is_current(dataset, spec))
		return false;
	if (forget && dataset->kind->look && dataset_names(dataset, &dataset->facts.fingerprint))
		dataset->facts.unsized = true;
	return true;
}

size_t dataset_index_bytes(const struct dataset *dataset)
{
	return dataset->facts.index_bytes;
}

uint64_t dataset_class_count(const struct dataset *dataset)
{
	return dataset->facts.class_count;
}

const char *dataset_class_name(const struct dataset *dataset, uint64_t label)
{
	assert(label < dataset->facts.class_count);
	return dataset->kind->class_name(dataset->state, label);
}

struct dataset_label dataset_label(const struct dataset *dataset)
{
	return dataset->facts.label;
}

void dataset_read_label(const struct dataset *dataset, uint64_t sample, void *out)
{
	assert(sample < dataset->facts.count);
	dataset->kind->read_label(dataset->state, sample, out);
}

const struct columns *dataset_columns(const struct dataset *dataset)
{
	static const struct columns none;
	return dataset->facts.columns ? dataset->facts.columns : &none;
}

size_t dataset_path(const struct dataset *dataset, uint64_t sample, char *out, size_t size)
{
	assert(sample < dataset->facts.count);
	return dataset->kind->path(dataset->state, sample, out, size);
}

bool dataset_has_pixels(const struct dataset *dataset)
{
	return dataset->kind->pixels && !dataset->facts.files;
}

bool dataset_is_far(const struct dataset *dataset)
{
	return dataset->far;
}

struct image dataset_pixels(const struct dataset *dataset, uint64_t sample)
{
	assert(sample < dataset->facts.count);
	return dataset->kind->pixels(dataset->state, sample);
}

void dataset_set_secret(struct dataset *dataset, const struct digest_secret *secret)
{
	dataset->secret = *secret;
	for (uint32_t i = 0; i < dataset->facts.parts; i++)
		dataset_set_secret(dataset->facts.part[i], secret);
}

/* The dataset that has the sample's file, and its number there. */
static const struct dataset *dataset_of_file(const struct dataset *dataset, uint64_t *sample)
{
	assert(*sample < dataset->facts.count);
	return dataset->kind->part ? dataset->kind->part(dataset->state, sample) : dataset;
}

bool dataset_stamp_kept(const struct dataset *dataset, uint64_t sample, struct stamp *out)
{
	struct storage_version version;
	dataset = dataset_of_file(dataset, &sample);
	return dataset->kind->version(dataset->state, sample, &version) == 0 &&
	       first_read_stamp_kept(&dataset->first_reads[sample], &version, out);
}

static int dataset_say_changed(const char *path, struct fault *fault)
{
	struct quote quote;
	return fault_say(fault, DATASET_E_CHANGED,
			 "%s is not the file that was read before: the dataset changed under the "
			 "stream; attach again when it changes no more",
			 quote_text(&quote, path));
}

int dataset_read(const struct dataset *dataset, uint64_t sample, size_t max_bytes,
		 struct buffer *buffer, struct stamp *stamp_out, struct fault *fault)
{
	struct storage_version version;
	struct stamp stamp;
	dataset = dataset_of_file(dataset, &sample);
	int result =
		dataset->kind->read(dataset->state, sample, max_bytes, buffer, &version, fault);
	if (result)
		return result;
	if (!first_read_stamp(&dataset->first_reads[sample], &dataset->secret, &version, buffer,
			      &stamp)) {
		char path[256];
		dataset_path(dataset, sample, path, sizeof(path));
		return dataset_say_changed(path, fault);
	}
	if (stamp_out)
		*stamp_out = stamp;
	return 0;
}

int dataset_read_head(const struct dataset *dataset, uint64_t sample, size_t max_bytes,
		      struct buffer *buffer, uint64_t *mark_out, struct fault *fault)
{
	struct storage_version version;
	dataset = dataset_of_file(dataset, &sample);
	int result = dataset->kind->read_head(dataset->state, sample, max_bytes, buffer, &version,
					      fault);
	if (!result)
		*mark_out = storage_version_mark(&version);
	return result;
}

uint64_t dataset_mark(const struct dataset *dataset, uint64_t sample)
{
	struct storage_version version;
	dataset = dataset_of_file(dataset, &sample);
	bool known = dataset->kind->head_version(dataset->state, sample, &version) == 0;
	return known ? storage_version_mark(&version) : 0;
}

int dataset_read_mask(const struct dataset *dataset, uint64_t sample, size_t max_bytes,
		      struct buffer *buffer, struct fault *fault)
{
	struct storage_version version;
	struct stamp stamp;
	size_t size;
	assert(sample < dataset->facts.count && dataset->mask);
	const char *path = column_path(dataset->mask, sample, &size);
	int result = dataset->kind->read_mask(dataset->state, path, size, max_bytes, buffer,
					      &version, fault);
	if (result || first_read_stamp(&dataset->first_masks[sample], &dataset->secret, &version,
				       buffer, &stamp))
		return result;
	char name[256];
	snprintf(name, sizeof(name), "%.*s", (int)size, path);
	return dataset_say_changed(name, fault);
}

bool dataset_is_supplied(const struct dataset *dataset)
{
	return dataset->kind == &code_kind;
}

bool dataset_is_pure(const struct dataset *dataset)
{
	return !dataset_is_supplied(dataset) || code_is_pure(dataset->state);
}

int dataset_supply(const struct dataset *dataset, uint64_t sample, int64_t label,
		   const struct buffer *bytes, struct stamp *stamp_out, struct fault *fault)
{
	assert(dataset_is_supplied(dataset) && sample < dataset->facts.count);
	struct storage_version version = code_version_of(dataset->state, sample, bytes->size);
	if (!dataset_is_pure(dataset))
		*stamp_out = (struct stamp){.size = bytes->size};
	else if (!first_read_stamp_hashed(&dataset->first_reads[sample], &dataset->secret, &version,
					  bytes, stamp_out))
		return fault_say(fault, DATASET_E_CHANGED,
				 "the code made other bytes for sample %" PRIu64
				 " than before: its bytes may depend on the index alone",
				 sample);
	code_set(dataset->state, sample, label, bytes->size);
	return 0;
}

const struct code_array *dataset_arrays(const struct dataset *dataset, uint32_t *count_out)
{
	return dataset_is_supplied(dataset) ? code_arrays(dataset->state, count_out) : NULL;
}
