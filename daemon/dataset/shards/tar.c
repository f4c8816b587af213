// SPDX-License-Identifier: MIT
#include "dataset/shards/tar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "dataset/shards/roles.h"
#include "dataset/shards/shard_index.h"
#include "dataset/shards/shard_keep.h"
#include "dataset/shards/shard_names.h"
#include "dataset/shards/shard_pass.h"

struct tar {
	struct storage_folder folder;
	struct shard_index *index;
};

static void tar_free(void *state)
{
	struct tar *tar = state;
	if (!tar)
		return;
	storage_close(&tar->folder);
	shard_index_free(tar->index);
	free(tar);
}

/* -- opening ---------------------------------------------------------------------------------- */

static struct dataset_label tar_label(const struct labels *labels)
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

static int tar_make_index(struct tar *tar, const struct shard_names *names,
			  const struct roles *roles, struct dataset_progress *progress,
			  struct dataset_facts *facts, struct fault *fault)
{
	uint64_t skipped = 0;
	int result = shard_index_new(&tar->index);
	if (!result)
		result = shard_pass(tar->index, names, &tar->folder, roles, progress, &skipped,
				    fault);
	if (!result)
		result = shard_index_finish(tar->index, roles->classes);
	facts->skipped = skipped;
	return result;
}

static int tar_fill(struct tar *tar, const struct shard_names *names,
		    const struct dataset_spec *spec, struct dataset_progress *progress,
		    struct dataset_facts *facts, struct fault *fault)
{
	struct roles roles;
	struct quote quote;
	int result = roles_parse(&roles, spec, fault);
	if (result)
		return result;
	const struct shard_keep keep = shard_keep_of(progress->keep_folder, names, spec);
	result = shard_keep_load(&keep, &tar->folder, names, &tar->index, &facts->skipped);
	if (result == SHARD_KEEP_E_NONE) {
		result = tar_make_index(tar, names, &roles, progress, facts, fault);
		if (!result && tar->index->count)
			shard_keep_save(&keep, tar->index, facts->skipped);
	}
	if (result)
		return result;
	const struct shard_index *index = tar->index;
	if (index->count == 0)
		return fault_say(fault, DATASET_E_OPEN, "%s has no samples",
				 quote_text(&quote, spec->path));
	facts->count = index->count;
	facts->class_count = index->names.count;
	facts->fingerprint = index->fingerprint;
	facts->label = tar_label(&index->labels);
	facts->columns = &index->columns;
	facts->shards = (uint32_t)index->shard_count;
	facts->index_bytes = shard_index_bytes(index);
	return 0;
}

static int tar_open(void **state_out, const struct dataset_spec *spec,
		    struct dataset_progress *progress, struct dataset_facts *facts,
		    struct fault *fault)
{
	struct shard_names names = SHARD_NAMES_NULL;
	struct tar *tar = calloc(1, sizeof(*tar));
	int result = tar ? shard_names_root(&names, spec->path) : -ENOMEM;
	if (!result) {
		const struct storage_place root = dataset_place(spec, names.root);
		result = storage_open(&tar->folder, &root, fault);
		result = result > 0 ? DATASET_E_OPEN : result;
	}
	if (!result)
		result = shard_names_find(&names, &tar->folder, spec->path, fault);
	if (!result)
		result = tar_fill(tar, &names, spec, progress, facts, fault);
	shard_names_deinit(&names);
	if (result)
		tar_free(tar);
	else
		*state_out = tar;
	return result;
}

/* -- samples ---------------------------------------------------------------------------------- */

static const char *tar_class_name(const void *state, uint64_t label)
{
	const struct shard_index *index = ((const struct tar *)state)->index;
	return class_names_text(&index->names, index->classes[label]);
}

static void tar_read_label(const void *state, uint64_t sample, void *out)
{
	const struct shard_index *index = ((const struct tar *)state)->index;
	static const int64_t none = 0;
	if (index->labels.rows)
		labels_read(&index->labels, sample, out);
	else
		memcpy(out, &none, sizeof(none));
}

static size_t tar_path(const void *state, uint64_t sample, char *out, size_t size)
{
	return shard_index_path(((const struct tar *)state)->index, sample, out, size);
}

/* The member's version, from its shard's; false if the shard is not the one that was indexed:
 * members lie elsewhere now. */
static bool tar_member_version(const struct shard *shard, const struct shard_member *member,
			       struct storage_version *version)
{
	const struct storage_version *known = &shard->version;
	bool same = version->size == known->size && version->mtime_ns == known->mtime_ns &&
		    version->inode == known->inode;
	version->size = member->size;
	return same;
}

static int tar_version(const void *state, uint64_t sample, struct storage_version *out)
{
	const struct tar *tar = state;
	const struct shard *shard = shard_index_of(tar->index, sample);
	struct storage_version version;
	struct fault unused;
	int result =
		tar->folder.storage->version(tar->folder.state, shard->name, &version, &unused);
	if (result)
		return result < 0 ? result : DATASET_E_READ;
	if (!tar_member_version(shard, &tar->index->members[sample], &version))
		return DATASET_E_CHANGED;
	*out = version;
	return 0;
}

static int tar_read(const void *state, uint64_t sample, size_t max_bytes, struct buffer *buffer,
		    struct storage_version *version_out, struct fault *fault)
{
	const struct tar *tar = state;
	const struct shard *shard = shard_index_of(tar->index, sample);
	const struct shard_member *member = &tar->index->members[sample];
	struct storage_version version;
	struct quote quote;
	if (member->size == 0)
		return fault_say(fault, DATASET_E_READ, "it is empty (0 bytes)");
	int result = tar->folder.storage->read_range(
		tar->folder.state, shard->name,
		(struct storage_range){(uint64_t)member->block * TAR_BLOCK, member->size},
		max_bytes, buffer, &version, fault);
	if (result < 0)
		return result;
	if (result == STORAGE_E_LIMIT)
		return DATASET_E_LIMIT;
	/* One that was cut is another shard, too. */
	if (result == STORAGE_E_READ && tar_version(state, sample, &version) != DATASET_E_CHANGED)
		return DATASET_E_READ;
	if (result || !tar_member_version(shard, member, &version))
		return fault_say(fault, DATASET_E_CHANGED,
				 "the shard %s is not the one that was indexed: it changed under "
				 "the stream; attach again when it changes no more",
				 quote_text(&quote, shard->name));
	*version_out = version;
	return 0;
}

static bool tar_suits(const struct dataset_spec *spec, bool folder)
{
	return !folder && shard_names_suits(spec->path);
}

static uint64_t tar_shard_first(const void *state, uint32_t shard)
{
	const struct shard_index *index = ((const struct tar *)state)->index;
	return shard < index->shard_count ? index->shards[shard].first : index->count;
}

static const char *const tar_keys[] = {
	"image", "label", "classes", "components", "missing_component", NULL};

const struct dataset_kind tar_kind = {
	.name = "tar",
	.keys = tar_keys,
	.suits = tar_suits,
	.clue = KIND_BY_NAME,
	.open = tar_open,
	.free = tar_free,
	.class_name = tar_class_name,
	.read_label = tar_read_label,
	.path = tar_path,
	.read = tar_read,
	.version = tar_version,
	.shard_first = tar_shard_first,
};
