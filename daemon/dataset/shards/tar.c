// SPDX-License-Identifier: MIT
#include "dataset/shards/tar.h"

#include "dataset/shards/shards.h"
#include "dataset/shards/tar_pass.h"

static int tar_open(void **state_out, const struct dataset_spec *spec,
		    struct dataset_progress *progress, struct dataset_facts *facts,
		    struct fault *fault)
{
	static const struct shard_form form = {
		.kind = "tar", .parse = roles_parse, .pass = tar_pass};
	return shards_open(state_out, &form, spec, progress, facts, fault);
}

static bool tar_suits(const struct dataset_spec *spec, bool folder)
{
	return !folder && shard_names_suits(spec->path);
}

const struct dataset_kind tar_kind = {
	.name = "tar",
	.suits = tar_suits,
	.clue = KIND_BY_NAME,
	.open = tar_open,
	.free = shards_free,
	.class_name = shards_class_name,
	.read_label = shards_read_label,
	.path = shards_path,
	.read = shards_read,
	.read_head = shards_read_head,
	.head_version = shards_indexed,
	.version = shards_version,
	.shard_first = shards_first,
};
