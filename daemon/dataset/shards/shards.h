/* SPDX-License-Identifier: MIT */
/*
 * Datasets in shards: a list of shards (shard_names.h), an index of what lies where in them
 * (shard_index.h), made in one pass or kept from an earlier one, and reads at the offsets that it
 * says. A form says how samples are found in a shard: the one thing in which tar, tfrecord and lmdb
 * differ. The state owns the folder and the index; immutable once open, any number of threads.
 *
 * A shard that is not what it was when it was indexed is not read: DATASET_E_CHANGED.
 */
#ifndef STOKER_DATASET_SHARDS_SHARDS_H
#define STOKER_DATASET_SHARDS_SHARDS_H

#include "dataset/kind.h"
#include "dataset/shards/roles.h"
#include "dataset/shards/shard_index.h"
#include "dataset/shards/shard_pass.h"

struct shard_form {
	const char *kind;
	/* What the description says of samples. 0 or DATASET_E_ARGUMENT. */
	int (*parse)(struct roles *out, const struct dataset_spec *spec, struct fault *fault);
	/* The folder and the names of the shards. 0 or -ENOMEM. NULL: shard_names.h says them. */
	int (*names)(struct shard_names *names, const struct dataset_spec *spec);
	/* Add the samples of all shards. 0, DATASET_E_OPEN, DATASET_E_CANCELLED or -ENOMEM. */
	int (*pass)(struct shard_pass *pass, struct fault *fault);
	/* Make of what was read the picture that is within. 0 or DATASET_E_READ. NULL: it is the
	 * picture. */
	int (*picture)(const struct roles *roles, struct buffer *buffer, struct fault *fault);
};

struct shards {
	const struct shard_form *form;
	struct dataset_spec spec; /* the texts that the roles borrow */
	struct roles roles;
	struct storage_folder folder;
	struct shard_index *index;
};

/* The functions of a row in the table of kinds; `state` is a struct shards. */
int shards_open(void **state_out, const struct shard_form *form, const struct dataset_spec *spec,
		struct dataset_progress *progress, struct dataset_facts *facts,
		struct fault *fault);
void shards_free(void *state);
const char *shards_class_name(const void *state, uint64_t label);
void shards_read_label(const void *state, uint64_t sample, void *out);
size_t shards_path(const void *state, uint64_t sample, char *out, size_t size);
int shards_read(const void *state, uint64_t sample, size_t max_bytes, struct buffer *buffer,
		struct storage_version *version_out, struct fault *fault);
int shards_read_head(const void *state, uint64_t sample, size_t max_bytes, struct buffer *buffer,
		     struct storage_version *version_out, struct fault *fault);
int shards_indexed(const void *state, uint64_t sample, struct storage_version *out);
int shards_version(const void *state, uint64_t sample, struct storage_version *out);
uint64_t shards_first(const void *state, uint32_t shard);

#endif
