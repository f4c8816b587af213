// SPDX-License-Identifier: MIT
#include "dataset/shards/packed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ending.h"
#include "dataset/shards/unpacked.h"

#define TURN_NS 20000000 /* between two looks whether another opening has done it */

struct packed {
	struct storage storage; /* that of `home.inner`, but for what is below */
	struct unpacked_home home;
	struct digest turn;	 /* the name of the fetch by which a shard is unpacked again */
	char **names;		 /* owned; of the shards */
	struct unpacked *shards; /* by name */
	uint64_t count;
	uint64_t memory; /* of its tables, and of one unpacking at a time; charged */
};

bool packed_is_named(const char *name)
{
	static const char *const endings[] = {".tar.gz", ".tgz", ".tar.zst", ".tar.bz2",
					      ".tar.xz", ".txz", ".tar.lz4"};
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (ends_in(name, endings[i]))
			return true;
	return false;
}

/* -- reading ---------------------------------------------------------------------------------- */

static int compare_shards(const void *a, const void *b)
{
	return strcmp(((const struct unpacked *)a)->name, ((const struct unpacked *)b)->name);
}

static const struct unpacked *packed_find(const struct packed *packed, const char *name)
{
	const struct unpacked key = {.name = name};
	return bsearch(&key, packed->shards, packed->count, sizeof(key), compare_shards);
}

static int packed_version(const void *state, const char *name, struct storage_version *out,
			  struct fault *fault)
{
	const struct packed *packed = state;
	const struct unpacked *shard = packed_find(packed, name);
	int result =
		packed->home.inner.storage->version(packed->home.inner.state, name, out, fault);
	if (!result && shard && storage_version_equal(out, &shard->version))
		out->size = shard->size;
	return result;
}

/* One thread of a dataset unpacks at a time: so much memory is charged as long as it is open. The
 * others wait for it, and for threads of other datasets that unpack the same shard, and look again.
 */
static int shard_read(const struct packed *packed, const struct unpacked *shard,
		      const struct stage_use *use, struct storage_range range, uint8_t *to,
		      bool *hit, struct fault *fault)
{
	struct stage *stage = stage_of_set(packed->home.set);
	struct stage_item whole;
	bool done = false;
	int result = unpacked_item(shard, &whole);
	while (!result && !done && !(*hit = unpacked_read(shard, use, range, to))) {
		if (!stage_claim_fetch(stage, &packed->turn))
			continue;
		done = stage_claim_fetch(stage, &whole.object);
		if (done) {
			result = unpacked_read_again(shard, use, range, to, fault);
			stage_end_fetch(stage, &whole.object);
		}
		stage_end_fetch(stage, &packed->turn);
	}
	return result;
}

static int packed_read_range(const void *state, const char *name, struct storage_range range,
			     uint64_t max_bytes, struct buffer *buffer,
			     struct storage_version *version_out, struct fault *fault)
{
	const struct packed *packed = state;
	const struct unpacked *shard = packed_find(packed, name);
	const struct stage_use *now = stage_use_now();
	const struct stage_use use = now ? *now : (struct stage_use){.set = packed->home.set};
	struct storage_version version;
	bool hit = false;
	if (!shard)
		return packed->home.inner.storage->read_range(packed->home.inner.state, name, range,
							      max_bytes, buffer, version_out,
							      fault);
	stage_use_set(use.set, use.sample); /* so a server is asked for its version once */
	int result = packed_version(packed, name, &version, fault);
	stage_use_set(NULL, 0); /* the packed file itself is not kept */
	if (!result && range.offset < version.size)
		range.length = storage_range_length(range, version.size - range.offset);
	if (!result && (version.size != shard->size || range.offset > shard->size ||
			range.length > shard->size - range.offset))
		result = fault_say(fault, STORAGE_E_READ, "it was changed");
	if (!result && range.length > max_bytes)
		result = STORAGE_E_LIMIT;
	result = result ? result : buffer_reserve(buffer, range.length);
	if (!result)
		result = shard_read(packed, shard, &use, range, buffer->data, &hit, fault);
	if (now) {
		stage_use_set(use.set, use.sample);
		stage_use_count(hit);
	}
	if (result)
		return result;
	buffer->size = range.length;
	if (version_out)
		*version_out = version;
	return 0;
}

/* -- opening ---------------------------------------------------------------------------------- */

static void packed_close(void *state)
{
	struct packed *packed = state;
	storage_close(&packed->home.inner);
	stage_set_close(packed->home.set);
	for (uint64_t i = 0; i < packed->count; i++)
		free(packed->names[i]);
	free(packed->names);
	free(packed->shards);
	free(packed->home.root);
	free(packed);
}

/* One is unpacked at a time, so the largest counts. */
static int shard_charge(struct packed *packed, const struct unpacked *shard, uint64_t *most,
			struct dataset_progress *progress, struct fault *fault)
{
	uint64_t memory = unpacked_memory(shard);
	uint64_t more = memory > *most ? memory - *most : 0;
	*most += more;
	packed->memory += more;
	return dataset_progress_add(progress, more, fault);
}

/* Unpack a shard into the stage, unless another opening does or did. */
static int shard_keep(struct unpacked *shard, struct dataset_progress *progress,
		      struct fault *fault)
{
	const struct timespec pause = {.tv_nsec = TURN_NS};
	struct stage_item whole;
	int result = unpacked_item(shard, &whole);
	if (result || unpacked_is_kept(shard))
		return result;
	while (!stage_claim_fetch_ahead(progress->stage, &whole.object)) {
		if (atomic_load(&progress->cancel))
			return fault_say(fault, DATASET_E_CANCELLED, "opening was cancelled");
		nanosleep(&pause, NULL);
	}
	if (!unpacked_is_kept(shard))
		result = unpacked_make(shard, &progress->cancel, fault);
	stage_end_fetch(progress->stage, &whole.object);
	return result;
}

/* Add a shard, unpacked if its first bytes are those of a packing. */
static int packed_add(struct packed *packed, const char *name, uint64_t *most,
		      struct dataset_progress *progress, struct fault *fault)
{
	const struct storage_range head = {0, PACKING_HEAD};
	struct buffer bytes = BUFFER_NULL;
	struct unpacked *shard = &packed->shards[packed->count];
	int result = packed->home.inner.storage->read_range(
		packed->home.inner.state, name, head, PACKING_HEAD, &bytes, &shard->version, fault);
	shard->packing = result ? NULL : packing_of(bytes.data);
	buffer_deinit(&bytes);
	if (!shard->packing)
		return result < 0 ? result : 0; /* who indexes it says what is wrong */
	packed->names[packed->count] = strdup(name);
	if (!packed->names[packed->count])
		return -ENOMEM;
	shard->home = &packed->home;
	shard->name = packed->names[packed->count++];
	result = shard_charge(packed, shard, most, progress, fault);
	return result ? result : shard_keep(shard, progress, fault);
}

/* Room for the shards that are named like packed ones. */
static int packed_reserve(struct packed *packed, const struct shard_names *names,
			  struct dataset_progress *progress, struct fault *fault)
{
	uint64_t count = 0;
	for (uint64_t i = 0; i < names->count; i++) {
		if (!packed_is_named(names->names[i]))
			continue;
		packed->memory += strlen(names->names[i]) + 1;
		count++;
	}
	packed->memory += count * (sizeof(*packed->names) + sizeof(*packed->shards));
	int result = dataset_progress_add(progress, packed->memory, fault);
	if (result)
		return result;
	packed->home.root = strdup(names->root);
	packed->names = calloc(count, sizeof(*packed->names));
	packed->shards = calloc(count, sizeof(*packed->shards));
	return packed->home.root && packed->names && packed->shards ? 0 : -ENOMEM;
}

static int packed_fill(struct packed *packed, const struct shard_names *names,
		       struct dataset_progress *progress, struct fault *fault)
{
	struct unpacked_home *home = &packed->home;
	struct storage_version root = {0};
	uint64_t most = 0;
	int result = packed_reserve(packed, names, progress, fault);
	if (!result)
		result = home->inner.storage->identify(home->inner.state, "", &root, fault);
	result = result > 0 ? DATASET_E_OPEN : result;
	home->id[0] = root.device;
	home->id[1] = root.inode;
	if (!result)
		result = stage_set_new(&home->set, progress->stage, progress->stage_user);
	if (!result) /* the address is no other dataset's while it is open */
		result = stage_name(progress->stage, "unpacking", (uintptr_t)packed, 0,
				    &packed->turn);
	for (uint64_t i = 0; i < names->count && !result; i++)
		if (packed_is_named(names->names[i]))
			result = packed_add(packed, names->names[i], &most, progress, fault);
	if (packed->count)
		qsort(packed->shards, packed->count, sizeof(*packed->shards), compare_shards);
	return result;
}

void packed_forget(const struct storage_folder *folder)
{
	const struct packed *packed = folder->state;
	if (folder->storage->close != packed_close)
		return;
	for (uint64_t i = 0; i < packed->count; i++)
		unpacked_forget(&packed->shards[i]);
}

int packed_open(struct storage_folder *folder, const struct shard_names *names,
		struct dataset_progress *progress, size_t *memory_out, struct fault *fault)
{
	uint64_t first = 0;
	while (first < names->count && !packed_is_named(names->names[first]))
		first++;
	if (!progress->stage || first == names->count)
		return 0;
	struct packed *packed = calloc(1, sizeof(*packed));
	if (!packed)
		return -ENOMEM;
	packed->home.inner = *folder;
	packed->storage = *folder->storage;
	packed->storage.at_once = 0; /* what is read is on the disk */
	packed->storage.list = NULL; /* shards are known by name */
	packed->storage.identify = NULL;
	packed->storage.close = packed_close;
	packed->storage.read_range = packed_read_range;
	packed->storage.version = packed_version;
	*folder = (struct storage_folder){&packed->storage, packed};
	int result = packed_fill(packed, names, progress, fault);
	if (!result)
		*memory_out = packed->memory;
	return result;
}
