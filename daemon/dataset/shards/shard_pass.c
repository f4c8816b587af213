// SPDX-License-Identifier: MIT
#include "dataset/shards/shard_pass.h"

#include "base/quote.h"
#include "dataset/shards/shard_readahead.h"
#include "dataset/shards/shard_sample.h"

int shard_pass_check(struct shard_pass *pass, struct fault *fault)
{
	if (atomic_load_explicit(&pass->progress->cancel, memory_order_relaxed))
		return fault_say(fault, DATASET_E_CANCELLED, "indexing was cancelled");
	return 0;
}

int shard_pass_say_sample(struct shard_pass *pass, const char *key, size_t size,
			  const struct fault *why, struct fault *fault)
{
	struct quote shard, path, quote;
	return fault_say(fault, DATASET_E_OPEN, "the dataset %s: %s: the sample '%s': %s",
			 quote_text(&path, pass->spec->path), quote_text(&shard, pass->reader.name),
			 quote_bytes(&quote, key, size), why->text);
}

int shard_pass_added(struct shard_pass *pass, int result, const char *key, size_t size,
		     const struct fault *why, struct fault *fault)
{
	if (result == 0) {
		atomic_fetch_add_explicit(&pass->progress->found, 1, memory_order_relaxed);
		return dataset_progress_grown(pass->progress, shard_index_bytes(pass->index),
					      fault);
	}
	if (result == SHARD_SAMPLE_LACKS && pass->roles->skip) {
		pass->skipped++;
		return 0;
	}
	return result > 0 ? shard_pass_say_sample(pass, key, size, why, fault) : result;
}

int shard_pass_say_shard(struct shard_pass *pass, const struct fault *why, struct fault *fault)
{
	struct quote quote, path;
	const char *packing = shard_reader_packing(&pass->reader);
	quote_text(&quote, pass->reader.name);
	if (packing)
		return fault_say(fault, DATASET_E_OPEN,
				 "the dataset %s: the shard %s is packed with %s: samples are read "
				 "at their place, "
				 "so unpack it (pictures hardly shrink by packing); a daemon with "
				 "cache-dir does so there for .tar.gz, .tgz, .tar.zst, .tar.bz2, "
				 ".tar.xz, .txz and .tar.lz4",
				 quote_text(&path, pass->spec->path), quote.text, packing);
	if (shard_reader_is_page(&pass->reader))
		return fault_say(
			fault, DATASET_E_OPEN,
			"the dataset %s: the shard %s is an HTML page and no archive: it is what a "
			"server "
			"shows to people, such as a page to log in: give the address of the file "
			"itself",
			quote_text(&path, pass->spec->path), quote.text);
	return fault_say(fault, DATASET_E_OPEN, "the dataset %s: the shard %s: %s",
			 quote_text(&path, pass->spec->path), quote.text, why->text);
}

static int pass_shard(struct shard_pass *pass, const char *name, shard_walk *walk, void *context,
		      struct fault *fault)
{
	struct fault why;
	struct quote path;
	int result = shard_reader_begin(&pass->reader, pass->folder, name, &why);
	if (result)
		return result < 0
			       ? result
			       : fault_say(fault, DATASET_E_OPEN, "the dataset %s: the shard: %s",
					   quote_text(&path, pass->spec->path), why.text);
	result = shard_index_begin_shard(pass->index, name, &pass->reader.version, &why);
	if (result)
		return result < 0 ? result
				  : fault_say(fault, DATASET_E_OPEN, "the dataset %s: %s",
					      quote_text(&path, pass->spec->path), why.text);
	result = walk(pass, context, fault);
	if (!result && shard_reader_end(&pass->reader, &why))
		result = shard_pass_say_shard(pass, &why, fault);
	if (!result)
		shard_index_end_shard(pass->index);
	return result;
}

int shard_pass_run(struct shard_pass *pass, shard_walk *walk, void *context, struct fault *fault)
{
	struct shard_readahead *ahead = shard_readahead_new(pass);
	int result = 0;
	for (uint64_t i = 0; i < pass->names->count && !result; i++) {
		if (ahead)
			pass->reader.from = shard_readahead_wait(ahead, i);
		result = shard_pass_check(pass, fault);
		if (!result)
			result = pass_shard(pass, pass->names->names[i], walk, context, fault);
	}
	if (ahead)
		shard_readahead_free(ahead);
	shard_reader_deinit(&pass->reader);
	return result;
}
