// SPDX-License-Identifier: MIT
#include "loop/state/statistics_store.h"

#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "base/owner.h"
#include "dataset/dataset.h"
#include "statistics/statistics.h"
#include "store/index_store.h"
#include "transform/pipeline.h"

/* In memory: so many, with so many bytes; the oldest go. */
static const struct store_limit {
	uint64_t count, bytes;
} of_all = {64, (uint64_t)256 << 20}, of_a_user = {16, (uint64_t)64 << 20};

void statistics_store_init(struct statistics_store *store, struct index_store *disk)
{
	*store = (struct statistics_store){.disk = disk};
}

/* A name is one of its dataset's; a digest stands for itself, so that a validation set takes those
 * of the training set. */
static bool is_meant(const struct statistics *statistics, const struct digest *fingerprint,
		     const char *name)
{
	char hex[33];
	digest_hex(&statistics->digest, hex);
	return strcmp(hex, name) == 0 ||
	       (digest_equal(&statistics->plan.fingerprint, fingerprint) &&
		strcmp(statistics->plan.name, name) == 0);
}

static struct statistics *find(const struct statistics_store *store, uint32_t owner,
			       const struct digest *fingerprint, const char *name)
{
	struct statistics *statistics = store->first;
	while (statistics &&
	       (statistics->plan.owner != owner || !is_meant(statistics, fingerprint, name)))
		statistics = statistics->next;
	return statistics;
}

int statistics_store_apply(const struct statistics_store *store, uid_t uid,
			   const struct dataset *dataset, struct pipeline *pipeline,
			   struct fault *fault)
{
	const char *name = pipeline_statistics(pipeline);
	struct digest fingerprint = dataset_fingerprint(dataset);
	struct statistics *statistics = name ? find(store, uid, &fingerprint, name) : NULL;
	if (name && !statistics)
		statistics = find(store, OWNER_OF_ALL, &fingerprint, name);
	if (statistics)
		return pipeline_fit(pipeline, statistics, fault);
	if (!name)
		return 0;
	return fault_say(fault, STATISTICS_STORE_E_MISSING,
			 "transforms: ImageDataGenerator: this dataset has no statistics '%s': "
			 "compute them with stokerctl fit DATASET --name %s, or node.fit(); "
			 "without index-dir they are lost when the daemon ends",
			 name, name);
}

static void drop(struct statistics **at)
{
	struct statistics *statistics = *at;
	*at = statistics->next;
	statistics_put(statistics);
}

void statistics_store_put(struct statistics_store *store, struct statistics *statistics)
{
	const struct statistics_plan *plan = &statistics->plan;
	const struct store_limit *limit = plan->owner == OWNER_OF_ALL ? &of_all : &of_a_user;
	uint64_t count = 1, bytes = statistics->count * sizeof(float);
	struct statistics **at = &statistics->next;
	statistics->next = store->first;
	store->first = statistics;
	while (*at) {
		const struct statistics *old = *at;
		bool same = digest_equal(&old->plan.fingerprint, &plan->fingerprint) &&
			    strcmp(old->plan.name, plan->name) == 0;
		uint64_t more = old->count * sizeof(float);
		if (old->plan.owner != plan->owner) {
			at = &(*at)->next;
			continue;
		}
		if (same || count == limit->count || bytes + more > limit->bytes) {
			drop(at);
			continue;
		}
		count++;
		bytes += more;
		at = &(*at)->next;
	}
}

void statistics_store_read(const struct statistics_store *store, uid_t uid,
			   const struct digest *fingerprint, struct statistics **out)
{
	struct fault fault;
	unsigned bad = 0;
	if (store->disk)
		bad = index_store_load_statistics(store->disk, fingerprint, uid, out, &fault);
	if (bad)
		log_warning("%u damaged files of statistics are ignored (index-dir): %s", bad,
			    fault.text);
}

void statistics_store_add_read(struct statistics_store *store, struct statistics *list)
{
	while (list) {
		struct statistics *statistics = list;
		list = statistics->next;
		const struct statistics_plan *plan = &statistics->plan;
		if (find(store, plan->owner, &plan->fingerprint, plan->name))
			statistics_put(statistics);
		else
			statistics_store_put(store, statistics);
	}
}

void statistics_store_deinit(struct statistics_store *store)
{
	while (store->first)
		drop(&store->first);
}
