// SPDX-License-Identifier: MIT
#include "loop/engine/preparation.h"

#include <errno.h>
#include <stdlib.h>

#include "base/owner.h"
#include "config.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/index_cache.h"
#include "survey/kept_sizes.h"

/* An attach waits so long for the headers of all pictures. */
#define PATIENCE_NS ((uint64_t)3600 * 1000000000)

struct preparation {
	struct dataset_entry *entry;
	preparation_done *done; /* NULL: given up */
	void *context;
	struct task task;
	struct preparation_wish wish;
	bool looks; /* at the first picture, for the entry's note */
	struct decode_limits limits;
	size_t max_file_bytes;
	unsigned threads;
	struct keep_file keep; /* where the sizes of the pictures are kept */
	/* From here on the task's, until it is done. */
	struct sampler_spec spec;
	struct one_size seen;
	struct picture_sizes_progress progress; /* any thread */
	struct prepared prepared;
	int result;
	struct fault fault;
};

static void preparation_free(struct preparation *preparation)
{
	sampler_spec_deinit(&preparation->spec);
	catalog_release(preparation->entry);
	free(preparation);
}

static int preparation_make_sampler(struct preparation *preparation)
{
	uint64_t max_bytes = preparation->wish.sampler_bytes;
	if (preparation->spec.kind == SAMPLER_NONE)
		return 0;
	int result = sampler_spec_read(&preparation->spec, max_bytes, &preparation->fault);
	return result ? result
		      : sampler_new(&preparation->prepared.sampler, &preparation->spec,
				    preparation->entry->dataset, max_bytes, &preparation->fault);
}

static struct picture_sizes_spec preparation_pictures(struct preparation *preparation)
{
	const struct dataset_entry *entry = preparation->entry;
	return (struct picture_sizes_spec){
		.dataset = entry->dataset,
		.limits = &preparation->limits,
		.max_bytes = preparation->max_file_bytes,
		.exif = preparation->wish.exif,
		.form = preparation->wish.form,
		.threads = preparation->threads,
		.patience_ns = preparation->wish.sizes ? 0 : PATIENCE_NS,
		.keep = &preparation->keep,
		.stopping = &entry->progress.cancel,
		.progress = &preparation->progress,
	};
}

static int preparation_find_sizes(struct preparation *preparation)
{
	const struct picture_sizes_spec pictures = preparation_pictures(preparation);
	if (!preparation->wish.sizes)
		return 0;
	int r = picture_sizes_find(NULL, &pictures, &preparation->fault);
	return r == PICTURE_SIZES_E_CANCELLED
		       ? fault_say(&preparation->fault, r, "the daemon is about to stop")
		       : r;
}

static int preparation_make_buckets(struct preparation *preparation)
{
	struct bucketing_spec *spec = &preparation->wish.bucketing;
	const struct picture_sizes_spec pictures = preparation_pictures(preparation);
	if (!spec->buckets)
		return 0;
	if (preparation->prepared.sampler)
		spec->sampler = preparation->prepared.sampler;
	spec->max_bytes = preparation->wish.sampler_bytes;
	return bucketing_make(&preparation->prepared.buckets, spec, &pictures, &preparation->fault);
}

static void prepared_deinit(struct prepared *prepared)
{
	sampler_free(prepared->sampler);
	bucket_order_free(prepared->buckets);
	prepared->sampler = NULL;
	prepared->buckets = NULL;
}

/* a task's thread. */
static void preparation_run(struct task *task)
{
	struct preparation *preparation = list_entry(task, struct preparation, task);
	preparation->result = preparation_make_sampler(preparation);
	if (preparation->result == 0)
		preparation->result = preparation_make_buckets(preparation);
	if (preparation->result == 0)
		preparation->result = preparation_find_sizes(preparation);
	if (atomic_load(&preparation->progress.read))
		index_caches_trim(preparation->entry->core->index_caches);
	if (preparation->result == 0 && (preparation->wish.size || preparation->looks))
		preparation->result = one_size_find(
			&preparation->seen, preparation->entry->dataset, &preparation->limits,
			preparation->max_file_bytes, preparation->wish.exif, preparation->wish.form,
			preparation->wish.size ? ONE_SIZE_LOOKS : 1);
	if (preparation->wish.size)
		preparation->prepared.size = preparation->seen;
}

static void preparation_ran(struct task *task, int status)
{
	struct preparation *preparation = list_entry(task, struct preparation, task);
	if (status < 0)
		preparation->result =
			fault_say(&preparation->fault, status,
				  "no thread could prepare the stream: errno %d", -status);
	if (preparation->result)
		prepared_deinit(&preparation->prepared);
	if (preparation->seen.clips)
		catalog_note_clipped(preparation->entry, preparation->seen.clipped);
	if (preparation->done)
		preparation->done(preparation->context, preparation->result, &preparation->prepared,
				  &preparation->fault);
	else
		prepared_deinit(&preparation->prepared);
	preparation_free(preparation);
}

/* Once for an entry, and not where it waits for a server; nothing is clipped of wide pictures. */
static bool preparation_looks(const struct dataset_entry *entry,
			      const struct preparation_wish *wish)
{
	return !entry->looked && !wish->form.type && !dataset_has_pixels(entry->dataset) &&
	       !dataset_is_supplied(entry->dataset) && !dataset_is_far(entry->dataset);
}

bool preparation_is_needed(const struct dataset_entry *entry, const struct preparation_wish *wish)
{
	return wish->sampler->kind != SAMPLER_NONE || wish->bucketing.buckets || wish->sizes ||
	       wish->size || preparation_looks(entry, wish);
}

static struct keep_file preparation_keep(const struct preparation *preparation)
{
	const struct dataset_entry *entry = preparation->entry;
	const struct kept_sizes_key key = {
		.dataset = dataset_identity(entry->dataset),
		.path = entry->spec.path,
		.exif = preparation->wish.exif,
		.form = preparation->wish.form,
		.limits = &preparation->limits,
	};
	return kept_sizes_file(index_caches_folder(entry->core->index_caches), owner_of(entry->uid),
			       &key);
}

int preparation_begin(struct preparation **out, struct dataset_entry *entry,
		      const struct preparation_wish *wish, preparation_done *done, void *context)
{
	struct preparation *preparation = calloc(1, sizeof(*preparation));
	if (!preparation) {
		sampler_spec_deinit(wish->sampler);
		return -ENOMEM;
	}
	preparation->entry = catalog_hold(entry);
	preparation->done = done;
	preparation->context = context;
	preparation->wish = *wish;
	preparation->looks = preparation_looks(entry, wish);
	entry->looked |= preparation->looks;
	preparation->spec = *wish->sampler;
	*wish->sampler = SAMPLER_SPEC_NULL;
	preparation->limits = core_decode_limits(entry->core);
	preparation->max_file_bytes = entry->core->config->max_file_bytes;
	preparation->threads = core_fetchers(entry->core);
	preparation->keep = preparation_keep(preparation);
	int r = task_start(&preparation->task, &entry->core->tasks, TASK_OPENING, wish->uid,
			   preparation_run, preparation_ran);
	if (r < 0) {
		preparation_free(preparation);
		return r;
	}
	*out = preparation;
	return 0;
}

void preparation_give_up(struct preparation *preparation)
{
	if (!preparation)
		return;
	preparation->done = NULL;
	atomic_store(&preparation->progress.cancel, true);
}

bool preparation_progress(struct preparation *preparation, uint64_t *done_out, uint64_t *total_out)
{
	if (!preparation || (!preparation->wish.bucketing.buckets && !preparation->wish.sizes))
		return false;
	*done_out = atomic_load(&preparation->progress.done);
	*total_out = dataset_count(preparation->entry->dataset);
	return true;
}
