// SPDX-License-Identifier: MIT
/* What stands in for lmdb.c where liblmdb is missing: a database is known, and refused. */
#include "dataset/shards/lmdb.h"
#include "dataset/shards/shards.h"

static int lmdb_open(void **state_out, const struct dataset_spec *spec,
		     struct dataset_progress *progress, struct dataset_facts *facts,
		     struct fault *fault)
{
	(void)state_out;
	(void)spec;
	(void)progress;
	(void)facts;
	return fault_say(fault, DATASET_E_OPEN,
			 "it is an LMDB database, and this stokerd was built without liblmdb: "
			 "build it with, or unpack the pictures into a folder");
}

static const char *const lmdb_keys[] = {NULL};

const struct dataset_kind lmdb_kind = {
	.name = "lmdb",
	.keys = lmdb_keys,
	.suits = lmdb_suits,
	.clue = KIND_BY_CONTENT,
	.open = lmdb_open,
	.free = shards_free,
	.class_name = shards_class_name,
	.read_label = shards_read_label,
	.path = shards_path,
	.read = shards_read,
	.version = shards_version,
	.shard_first = shards_first,
};
