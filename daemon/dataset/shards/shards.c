// SPDX-License-Identifier: MIT
#include "dataset/shards/shards.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "base/url.h"
#include "dataset/shards/packed.h"
#include "dataset/shards/shard_keep.h"
#include "dataset/shards/shard_names.h"
#include "dataset/sources.h"
#include "stage/stage.h"

void shards_free(void *state)
{
	struct shards *shards = state;
	if (!shards)
		return;
	storage_close(&shards->folder);
	shard_index_free(shards->index);
	dataset_spec_deinit(&shards->spec);
	free(shards);
}

/* -- opening ---------------------------------------------------------------------------------- */

static struct dataset_label shards_label(const struct labels *labels)
{
	if (!labels->rows)
		return (struct dataset_label){.dtype = "int64", .count = 1, .bytes = 8};
	return (struct dataset_label){
		.dtype = labels->real ? "float32" : "int64",
		.dims = labels->count > 1 ? 1 : 0,
		.count = labels->count,
		.bytes = labels_row_bytes(labels),
	};
}

static int shards_make_index(struct shards *shards, const struct shard_names *names,
			     const struct dataset_spec *spec, struct dataset_progress *progress,
			     struct dataset_facts *facts, struct fault *fault)
{
	int result = shard_index_new(&shards->index, shards->form->kind);
	struct shard_pass pass = {.index = shards->index,
				  .names = names,
				  .folder = &shards->folder,
				  .roles = &shards->roles,
				  .spec = spec,
				  .run = shards->form->pass,
				  .progress = progress};
	if (!result)
		result = shards->form->pass(&pass, fault);
	if (!result)
		result = shard_index_finish(shards->index, shards->roles.classes);
	facts->skipped = pass.skipped;
	return result;
}

static int shards_fill(struct shards *shards, const struct shard_names *names,
		       const struct dataset_spec *spec, struct dataset_progress *progress,
		       struct dataset_facts *facts, struct fault *fault)
{
	struct quote quote;
	const struct keep_file keep = shard_keep_of(progress, shards->form->kind, names, spec);
	int result =
		shard_keep_load(&keep, &shards->folder, names, &shards->index, &facts->skipped);
	if (result == SHARD_KEEP_E_NONE) {
		result = shards_make_index(shards, names, spec, progress, facts, fault);
		if (!result && shards->index->count)
			progress->kept |= shard_keep_save(&keep, shards->index, facts->skipped);
	}
	if (result)
		return result;
	const struct shard_index *index = shards->index;
	for (uint64_t i = 0; i < index->shard_count && !url_scheme(spec->path); i++)
		sources_add(progress->sources, SOURCE_BELOW, index->shards[i].name,
			    &index->shards[i].version);
	if (index->count == 0) {
		packed_forget(&shards->folder);
		return fault_say(fault, DATASET_E_OPEN,
				 "%s has no samples: give it some, or look whether a pattern names "
				 "the right files",
				 quote_text(&quote, spec->path));
	}
	facts->count = index->count;
	facts->class_count = index->names.count;
	facts->fingerprint = index->fingerprint;
	facts->label = shards_label(&index->labels);
	facts->columns = &index->columns;
	facts->shards = (uint32_t)index->shard_count;
	facts->index_bytes += shard_index_bytes(index);
	return 0;
}

/* The roles borrow the description's texts, so they get a description of their own. */
static int shards_take_roles(struct shards *shards, const struct dataset_spec *spec,
			     struct fault *fault)
{
	const char *const from[] = {spec->image, spec->label, spec->classes, spec->components,
				    spec->missing_component};
	struct dataset_spec *own = &shards->spec;
	char **const to[] = {&own->image, &own->label, &own->classes, &own->components,
			     &own->missing_component};
	for (size_t i = 0; i < sizeof(from) / sizeof(*from); i++) {
		*to[i] = from[i] ? strdup(from[i]) : NULL;
		if (from[i] && !*to[i])
			return -ENOMEM;
	}
	return shards->form->parse(&shards->roles, own, fault);
}

int shards_open(void **state_out, const struct shard_form *form, const struct dataset_spec *spec,
		struct dataset_progress *progress, struct dataset_facts *facts, struct fault *fault)
{
	struct shard_names names = SHARD_NAMES_NULL;
	struct shards *shards = calloc(1, sizeof(*shards));
	if (!shards)
		return -ENOMEM;
	shards->form = form;
	int result = shards_take_roles(shards, spec, fault);
	if (!result)
		result = form->names ? form->names(&names, spec)
				     : shard_names_root(&names, spec->path);
	if (!result) {
		bool whole = strcmp(names.root, spec->path) == 0; /* it is the description's own */
		const struct storage_place root =
			dataset_place(spec, whole ? spec->path : names.root);
		result = storage_open(&shards->folder, &root, fault);
		result = result > 0 ? DATASET_E_OPEN : result;
	}
	if (!result)
		sources_add_folder(progress->sources, SOURCE_ROOT, names.root, &shards->folder, "");
	if (!result && !form->names)
		result = shard_names_find(&names, &shards->folder, spec->path, fault);
	if (!result && !form->names)
		sources_add_mark(progress->sources, SOURCE_NAMES, "", shard_names_mark(&names));
	if (!result)
		result = packed_open(&shards->folder, &names, progress, &facts->index_bytes, fault);
	if (!result)
		result = shards_fill(shards, &names, spec, progress, facts, fault);
	shard_names_deinit(&names);
	if (result)
		shards_free(shards);
	else
		*state_out = shards;
	return result;
}

/* -- samples ---------------------------------------------------------------------------------- */

const char *shards_class_name(const void *state, uint64_t label)
{
	const struct shard_index *index = ((const struct shards *)state)->index;
	return class_names_text(&index->names, index->classes[label]);
}

void shards_read_label(const void *state, uint64_t sample, void *out)
{
	const struct shard_index *index = ((const struct shards *)state)->index;
	static const int64_t none = 0;
	if (index->labels.rows)
		labels_read(&index->labels, sample, out);
	else
		memcpy(out, &none, sizeof(none));
}

size_t shards_path(const void *state, uint64_t sample, char *out, size_t size)
{
	return shard_index_path(((const struct shards *)state)->index, sample, out, size);
}

static struct storage_range shards_member(const struct shard_index *index, uint64_t sample)
{
	return (struct storage_range){(uint64_t)number_list_at(&index->offsets, sample),
				      (uint64_t)number_list_at(&index->sizes, sample)};
}

/* The member's version, from its shard's; false if the shard is not the one that was indexed:
 * members lie elsewhere now. */
static bool shards_member_version(const struct shard *shard, uint64_t size,
				  struct storage_version *version)
{
	const struct storage_version *known = &shard->version;
	bool same = version->size == known->size && version->mtime_ns == known->mtime_ns &&
		    version->inode == known->inode;
	version->size = size;
	return same;
}

int shards_version(const void *state, uint64_t sample, struct storage_version *out)
{
	const struct shards *shards = state;
	const struct shard *shard = shard_index_of(shards->index, sample);
	struct storage_version version;
	struct fault unused;
	int result = shards->folder.storage->version(shards->folder.state, shard->name, &version,
						     &unused);
	if (result)
		return result < 0 ? result : DATASET_E_READ;
	if (!shards_member_version(shard, shards_member(shards->index, sample).length, &version))
		return DATASET_E_CHANGED;
	*out = version;
	return 0;
}

/* A group of members that begins at the same one for all of them; no further than this shard. */
static void shards_beside(const struct shard_index *index, const struct shard *shard,
			  uint64_t sample, struct stage_beside *out)
{
	const struct stage_use *use = stage_use_now();
	const struct shard *next = shard + 1;
	uint64_t end = next < index->shards + index->shard_count ? next->first : index->count;
	uint64_t own = (sample - shard->first) % STAGE_BESIDE_MAX, first = sample - own;
	out->own = (unsigned)own;
	out->sample = use->sample - own;
	for (out->count = 0; out->count < STAGE_BESIDE_MAX && first + out->count < end;
	     out->count++) {
		const struct storage_range member = shards_member(index, first + out->count);
		out->range[out->count] = (struct stage_range){member.offset, member.length};
	}
}

int shards_indexed(const void *state, uint64_t sample, struct storage_version *out)
{
	const struct shard_index *index = ((const struct shards *)state)->index;
	*out = shard_index_of(index, sample)->version;
	out->size = shards_member(index, sample).length;
	return 0;
}

/* The first bytes of a member, `most` at most. */
static int shards_read_part(const struct shards *shards, uint64_t sample, uint64_t most,
			    size_t max_bytes, struct buffer *buffer,
			    struct storage_version *version_out, struct fault *fault)
{
	const struct shard *shard = shard_index_of(shards->index, sample);
	const struct storage_range member = shards_member(shards->index, sample);
	struct storage_range part = member;
	struct storage_version version;
	struct stage_beside beside;
	struct quote quote;
	if (member.length == 0)
		return fault_say(fault, DATASET_E_READ, "it is empty (0 bytes)");
	part.length = part.length < most ? part.length : most;
	if (stage_use_now()) {
		shards_beside(shards->index, shard, sample, &beside);
		stage_use_beside(&beside);
	}
	int result = shards->folder.storage->read_range(shards->folder.state, shard->name, part,
							max_bytes, buffer, &version, fault);
	if (stage_use_now())
		stage_use_beside(NULL);
	if (result < 0)
		return result;
	if (result == STORAGE_E_LIMIT)
		return DATASET_E_LIMIT;
	/* One that was cut is another shard, too. */
	if (result == STORAGE_E_READ &&
	    shards_version(shards, sample, &version) != DATASET_E_CHANGED)
		return DATASET_E_READ;
	if (result || !shards_member_version(shard, member.length, &version))
		return fault_say(fault, DATASET_E_CHANGED,
				 "the shard %s is not the one that was indexed: it changed under "
				 "the stream; attach again when it changes no more",
				 quote_text(&quote, shard->name));
	*version_out = version;
	return 0;
}

int shards_read(const void *state, uint64_t sample, size_t max_bytes, struct buffer *buffer,
		struct storage_version *version_out, struct fault *fault)
{
	const struct shards *shards = state;
	int result = shards_read_part(shards, sample, STORAGE_TO_END, max_bytes, buffer,
				      version_out, fault);
	if (!result && shards->form->picture)
		result = shards->form->picture(&shards->roles, buffer, fault);
	return result;
}

int shards_read_head(const void *state, uint64_t sample, size_t max_bytes, struct buffer *buffer,
		     struct storage_version *version_out, struct fault *fault)
{
	const struct shards *shards = state;
	int result = shards->form->picture
			     ? shards_read(state, sample, max_bytes, buffer, version_out, fault)
			     : shards_read_part(shards, sample, STORAGE_HEAD_BYTES,
						STORAGE_HEAD_BYTES, buffer, version_out, fault);
	return result ? result : shards_indexed(state, sample, version_out);
}

uint64_t shards_first(const void *state, uint32_t shard)
{
	const struct shard_index *index = ((const struct shards *)state)->index;
	return shard < index->shard_count ? index->shards[shard].first : index->count;
}
