/* SPDX-License-Identifier: MIT */
/*
 * A pass over shards that makes their index, whatever form they have: opens one after the other,
 * lets the form's function add their samples, and says what cannot be used, which is one error that
 * names the shard. Blocks on storage; one thread, ahead of which ahead go where storage is far
 * (shard_readahead.h). Knows no form.
 */
#ifndef STOKER_DATASET_SHARDS_SHARD_PASS_H
#define STOKER_DATASET_SHARDS_SHARD_PASS_H

#include "dataset/shards/roles.h"
#include "dataset/shards/shard_index.h"
#include "dataset/shards/shard_names.h"
#include "dataset/shards/shard_reader.h"

struct shard_pass {
	struct shard_index *index;
	const struct shard_names *names;
	const struct storage_folder *folder;
	const struct roles *roles;
	const struct dataset_spec *spec;
	struct dataset_progress *progress;
	/* The form's: walks all shards of such a pass by shard_pass_run(). */
	int (*run)(struct shard_pass *pass, struct fault *fault);
	uint64_t skipped;	    /* samples that were left out */
	struct shard_reader reader; /* of the shard under way; the pass' own */
};

/* Adds all samples of the shard that is open in the reader. 0, DATASET_E_OPEN, DATASET_E_CANCELLED
 * or -ENOMEM. */
typedef int shard_walk(struct shard_pass *pass, void *context, struct fault *fault);

/* Walk all shards. The same results; the words name the shard. */
int shard_pass_run(struct shard_pass *pass, shard_walk *walk, void *context, struct fault *fault);

/* For the walk. Shall it go on? 0 or DATASET_E_CANCELLED. */
int shard_pass_check(struct shard_pass *pass, struct fault *fault);
/* A sample was added with this result: 0, SHARD_SAMPLE_LACKS, SHARD_SAMPLE_E_BAD or -ENOMEM, with
 * words. Returns what the walk returns: 0 if it goes on. */
int shard_pass_added(struct shard_pass *pass, int result, const char *key, size_t size,
		     const struct fault *why, struct fault *fault);
/* Say that the sample under way, or the shard, is wrong: DATASET_E_OPEN. */
int shard_pass_say_sample(struct shard_pass *pass, const char *key, size_t size,
			  const struct fault *why, struct fault *fault);
int shard_pass_say_shard(struct shard_pass *pass, const struct fault *why, struct fault *fault);

#endif
