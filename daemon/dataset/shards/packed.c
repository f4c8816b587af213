// SPDX-License-Identifier: MIT
#include "dataset/shards/packed.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ending.h"
#include "base/quote.h"
#include "dataset/dataset.h"
#include "stage/stage.h"

#define MIB ((uint64_t)1 << 20)
#define PIECE ((uint64_t)256 << 10)   /* a picture or two */
#define CHUNK ((uint64_t)4 << 20)     /* of the packed file, a read each */
#define BYTES_MAX ((uint64_t)1 << 40) /* of a shard */

/* A shard that is unpacked. */
struct unpacked {
	const char *name;		/* borrowed from the state's text */
	struct storage_version version; /* of the packed file */
	size_t packing;
	uint64_t size; /* unpacked */
};

struct packed {
	struct storage storage;	     /* that of `inner`, but for what is below */
	struct storage_folder inner; /* owned */
	struct stage_set *set;
	char *root;
	char **names;		 /* owned; of the shards */
	struct unpacked *shards; /* by name */
	uint64_t count;
	uint64_t memory; /* charged while it is opened */
};

/* -- what is packed --------------------------------------------------------------------------- */

static const struct {
	const char *bytes;
	size_t size;
	const char *name;
	int filter; /* 0: not unpacked: its writer says how much memory that takes, up to 1 GiB */
	uint64_t memory; /* that it takes at most */
} packings[] = {
	{"\x1f\x8b", 2, "gzip", ARCHIVE_FILTER_GZIP, 1 * MIB},
	{"\x28\xb5\x2f\xfd", 4, "zstd", ARCHIVE_FILTER_ZSTD, 136 * MIB},
	{"BZh", 3, "bzip2", ARCHIVE_FILTER_BZIP2, 8 * MIB},
	{"\xfd"
	 "7zXZ",
	 5, "xz", 0, 0},
	{"\x04\x22\x4d\x18", 4, "lz4", ARCHIVE_FILTER_LZ4, 16 * MIB},
};
#define PACKINGS (sizeof(packings) / sizeof(packings[0]))

static size_t packing_of(const uint8_t bytes[PACKED_HEAD])
{
	size_t i = 0;
	while (i < PACKINGS && memcmp(bytes, packings[i].bytes, packings[i].size) != 0)
		i++;
	return i;
}

const char *packed_with(const uint8_t bytes[PACKED_HEAD])
{
	size_t i = packing_of(bytes);
	return i < PACKINGS ? packings[i].name : NULL;
}

bool packed_is_named(const char *name)
{
	static const char *const endings[] = {".tar.gz", ".tgz", ".tar.zst", ".tar.bz2",
					      ".tar.lz4"};
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (ends_in(name, endings[i]))
			return true;
	return false;
}

/* -- pieces ----------------------------------------------------------------------------------- */

/* The piece at `offset`; that at UINT64_MAX has the size of all. 0 or -ENOMEM. */
static int piece_item(const struct packed *packed, const struct unpacked *shard, uint64_t offset,
		      struct stage_item *out)
{
	const struct stage *stage = stage_of_set(packed->set);
	const struct storage_version *version = &shard->version;
	char *text;
	if (asprintf(&text, "unpacked:%s/%s", packed->root, shard->name) < 0)
		return -ENOMEM;
	int result = stage_name(stage, text, offset, storage_version_mark(version), &out->object);
	text[sizeof("unpacked:") - 1 + strlen(packed->root)] = '\0';
	result = result ? result : stage_name(stage, text, 0, 0, &out->origin);
	free(text);
	out->version =
		(struct stage_version){{version->device, version->inode, version->size,
					(uint64_t)version->mtime_ns, (uint64_t)version->ctime_ns}};
	return result;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Copy what a piece, which begins at `at`, has of the range. */
static void piece_copy(const struct buffer *piece, uint64_t at, struct storage_range range,
		       uint8_t *to)
{
	uint64_t from = at > range.offset ? at : range.offset;
	uint64_t end = least(at + piece->size, range.offset + range.length);
	if (from < end)
		memcpy(to + (from - range.offset), piece->data + (from - at), end - from);
}

/* From the disk; false: something of it is not there. */
static bool pieces_read(const struct packed *packed, const struct unpacked *shard,
			const struct stage_use *use, struct storage_range range, uint8_t *to)
{
	struct buffer piece = BUFFER_NULL;
	bool found = true;
	uint64_t at = range.offset - range.offset % PIECE;
	for (; found && at < range.offset + range.length; at += PIECE) {
		struct stage_item item;
		found = piece_item(packed, shard, at, &item) == 0 &&
			stage_find(use, &item, PIECE, &piece, clock_ns()) &&
			piece.size == least(PIECE, shard->size - at);
		if (found)
			piece_copy(&piece, at, range, to);
	}
	buffer_deinit(&piece);
	return found;
}

/* -- unpacking -------------------------------------------------------------------------------- */

struct unpacking {
	const struct packed *packed;
	const struct unpacked *shard;
	const struct stage_use *use;
	const atomic_bool *cancel;  /* NULL: a read, which needs no room to go on */
	struct storage_range range; /* what the caller wants itself, ... */
	uint8_t *to;		    /* ... or NULL */
	struct buffer chunk, piece;
	uint64_t taken, given; /* bytes, packed and unpacked */
	int result;
	struct fault *fault;
};

static int unpacking_say(struct unpacking *unpacking, const char *why)
{
	struct quote quote;
	return fault_say(unpacking->fault, DATASET_E_OPEN, "the packed shard %s: %s",
			 quote_text(&quote, unpacking->shard->name), why);
}

static la_ssize_t unpacking_fetch(struct archive *archive, void *context, const void **out)
{
	struct unpacking *unpacking = context;
	const struct storage_folder *inner = &unpacking->packed->inner;
	const struct unpacked *shard = unpacking->shard;
	struct storage_range range = {unpacking->taken,
				      least(CHUNK, shard->version.size - unpacking->taken)};
	struct storage_version version;
	if (range.length == 0)
		return 0;
	int result = inner->storage->read_range(inner->state, shard->name, range, CHUNK,
						&unpacking->chunk, &version, unpacking->fault);
	if (!result && !storage_version_equal(&version, &shard->version))
		result = unpacking_say(unpacking, "it was changed while it was read");
	if (result) {
		unpacking->result = result < 0 ? result : DATASET_E_OPEN;
		archive_set_error(archive, EIO, "reading failed");
		return -1;
	}
	unpacking->taken += range.length;
	*out = unpacking->chunk.data;
	return (la_ssize_t)range.length;
}

static int unpacking_keep(struct unpacking *unpacking, uint64_t offset, const struct buffer *bytes)
{
	struct stage_item item;
	int result = piece_item(unpacking->packed, unpacking->shard, offset, &item);
	if (result)
		return result;
	stage_keep(unpacking->use, &item, bytes, clock_ns());
	if (unpacking->cancel && !stage_has(stage_of_set(unpacking->packed->set), &item.object))
		return unpacking_say(unpacking, "there is no room to unpack it: cache-size and "
						"cache-free allow no more, or the disk is full");
	return 0;
}

static int unpacking_piece(struct unpacking *unpacking)
{
	uint64_t at = unpacking->given;
	if (unpacking->cancel && atomic_load(unpacking->cancel))
		return fault_say(unpacking->fault, DATASET_E_CANCELLED, "opening was cancelled");
	if (at >= BYTES_MAX)
		return unpacking_say(unpacking, "it has more than 1 TiB");
	unpacking->given += unpacking->piece.size;
	if (unpacking->to)
		piece_copy(&unpacking->piece, at, unpacking->range, unpacking->to);
	return unpacking_keep(unpacking, at, &unpacking->piece);
}

static int unpacking_pieces(struct unpacking *unpacking, struct archive *archive)
{
	struct buffer *piece = &unpacking->piece;
	for (;;) {
		la_ssize_t got = 1;
		for (piece->size = 0; got > 0 && piece->size < PIECE; piece->size += (size_t)got) {
			got = archive_read_data(archive, piece->data + piece->size,
						PIECE - piece->size);
			if (got < 0)
				return unpacking->result
					       ? unpacking->result
					       : unpacking_say(unpacking,
							       archive_error_string(archive));
		}
		int result = piece->size ? unpacking_piece(unpacking) : 0;
		if (result || got == 0)
			return result;
	}
}

static int unpacking_run(struct unpacking *unpacking)
{
	struct archive_entry *entry;
	struct archive *archive = archive_read_new();
	int result = buffer_reserve(&unpacking->piece, PIECE);
	if (!archive || result)
		result = -ENOMEM;
	/* Once only, and by a library: a warning says that a program would be run. */
	else if (archive_read_append_filter(archive, packings[unpacking->shard->packing].filter) !=
			 ARCHIVE_OK ||
		 archive_read_support_format_raw(archive) != ARCHIVE_OK)
		result = unpacking_say(unpacking, "this libarchive does not unpack it: unpack it");
	else if (archive_read_open(archive, unpacking, NULL, unpacking_fetch, NULL) != ARCHIVE_OK ||
		 archive_read_next_header(archive, &entry) != ARCHIVE_OK)
		result = unpacking->result
				 ? unpacking->result
				 : unpacking_say(unpacking, archive_error_string(archive));
	else
		result = unpacking_pieces(unpacking, archive);
	archive_read_free(archive);
	buffer_deinit(&unpacking->piece);
	buffer_deinit(&unpacking->chunk);
	return result;
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
	int result = packed->inner.storage->version(packed->inner.state, name, out, fault);
	if (!result && shard && storage_version_equal(out, &shard->version))
		out->size = shard->size;
	return result;
}

/* What is not kept is unpacked by one thread, for which others wait. */
static int shard_read(const struct packed *packed, const struct unpacked *shard,
		      const struct stage_use *use, struct storage_range range, uint8_t *to,
		      bool *hit, struct fault *fault)
{
	struct stage *stage = stage_of_set(packed->set);
	struct unpacking unpacking = {packed, shard, use, NULL, range, to, .fault = fault};
	struct stage_item whole;
	*hit = pieces_read(packed, shard, use, range, to);
	int result = *hit ? 0 : piece_item(packed, shard, UINT64_MAX, &whole);
	if (*hit || result)
		return result;
	bool first = stage_fly(stage, &whole.object);
	*hit = !first && pieces_read(packed, shard, use, range, to);
	if (!*hit)
		result = unpacking_run(&unpacking);
	if (!result && !*hit && unpacking.given != shard->size)
		result = unpacking_say(&unpacking, "it has another size now");
	if (first)
		stage_land(stage, &whole.object);
	return result > 0 ? STORAGE_E_READ : result;
}

static int packed_read_range(const void *state, const char *name, struct storage_range range,
			     uint64_t max_bytes, struct buffer *buffer,
			     struct storage_version *version_out, struct fault *fault)
{
	const struct packed *packed = state;
	const struct unpacked *shard = packed_find(packed, name);
	const struct stage_use *now = stage_use_now();
	const struct stage_use use = now ? *now : (struct stage_use){.set = packed->set};
	struct storage_version version;
	bool hit = false;
	if (!shard)
		return packed->inner.storage->read_range(packed->inner.state, name, range,
							 max_bytes, buffer, version_out, fault);
	stage_use_set(use.set, use.sample); /* so a server is asked for its version once */
	int result = packed_version(packed, name, &version, fault);
	stage_use_set(NULL, 0); /* the packed file itself is not kept */
	if (!result && range.length == STORAGE_TO_END && range.offset < version.size)
		range.length = version.size - range.offset;
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
	storage_close(&packed->inner);
	stage_set_close(packed->set);
	for (uint64_t i = 0; i < packed->count; i++)
		free(packed->names[i]);
	free(packed->names);
	free(packed->shards);
	free(packed->root);
	free(packed);
}

/* Are all of its pieces there? Then its size is known. */
static bool shard_is_kept(const struct packed *packed, struct unpacked *shard,
			  const struct stage_use *use)
{
	struct stage_item item;
	struct buffer text = BUFFER_NULL;
	bool kept = piece_item(packed, shard, UINT64_MAX, &item) == 0 &&
		    stage_find(use, &item, sizeof(shard->size), &text, clock_ns()) &&
		    text.size == sizeof(shard->size);
	if (kept)
		memcpy(&shard->size, text.data, sizeof(shard->size));
	buffer_deinit(&text);
	for (uint64_t at = 0; kept && at < shard->size; at += PIECE)
		kept = piece_item(packed, shard, at, &item) == 0 &&
		       stage_has(stage_of_set(packed->set), &item.object);
	return kept;
}

/* Once for all of them: one is unpacked at a time. */
static int shard_charge(struct packed *packed, const struct unpacked *shard,
			struct dataset_progress *progress, struct fault *fault)
{
	uint64_t memory = CHUNK + PIECE + packings[shard->packing].memory;
	uint64_t more = memory > packed->memory ? memory - packed->memory : 0;
	packed->memory += more;
	return dataset_progress_add(progress, more, fault);
}

static int shard_unpack(struct packed *packed, struct unpacked *shard,
			struct dataset_progress *progress, struct fault *fault)
{
	const struct stage_use use = {.set = packed->set};
	struct unpacking unpacking = {packed, shard, &use, &progress->cancel, .fault = fault};
	struct buffer size = BUFFER_NULL;
	if (shard_is_kept(packed, shard, &use))
		return 0;
	int result = shard_charge(packed, shard, progress, fault);
	if (!result)
		result = unpacking_run(&unpacking);
	shard->size = unpacking.given;
	if (!result)
		result = buffer_reserve(&size, sizeof(shard->size));
	if (!result) {
		memcpy(size.data, &shard->size, sizeof(shard->size));
		size.size = sizeof(shard->size);
		result = unpacking_keep(&unpacking, UINT64_MAX, &size);
	}
	buffer_deinit(&size);
	return result;
}

/* Its first bytes say what it is packed with; none of the packings: it stays as it is. */
static int packed_add(struct packed *packed, const char *name, struct dataset_progress *progress,
		      struct fault *fault)
{
	const struct storage_range head = {0, PACKED_HEAD};
	struct buffer bytes = BUFFER_NULL;
	struct unpacked *shard = &packed->shards[packed->count];
	int result = packed->inner.storage->read_range(packed->inner.state, name, head, PACKED_HEAD,
						       &bytes, &shard->version, fault);
	size_t packing = result ? PACKINGS : packing_of(bytes.data);
	buffer_deinit(&bytes);
	if (result < 0 || packing == PACKINGS || !packings[packing].filter)
		return result < 0 ? result : 0; /* who indexes it says what is wrong */
	packed->names[packed->count] = strdup(name);
	if (!packed->names[packed->count])
		return -ENOMEM;
	shard->name = packed->names[packed->count++];
	shard->packing = packing;
	return shard_unpack(packed, shard, progress, fault);
}

static int packed_fill(struct packed *packed, const struct shard_names *names,
		       struct dataset_progress *progress, struct fault *fault)
{
	packed->root = strdup(names->root);
	packed->names = calloc(names->count, sizeof(*packed->names));
	packed->shards = calloc(names->count, sizeof(*packed->shards));
	if (!packed->root || !packed->names || !packed->shards)
		return -ENOMEM;
	int result = stage_set_new(&packed->set, progress->stage, progress->stage_user);
	for (uint64_t i = 0; i < names->count && !result; i++)
		if (packed_is_named(names->names[i]))
			result = packed_add(packed, names->names[i], progress, fault);
	qsort(packed->shards, packed->count, sizeof(*packed->shards), compare_shards);
	return result;
}

int packed_open(struct storage_folder *folder, const struct shard_names *names,
		struct dataset_progress *progress, struct fault *fault)
{
	uint64_t first = 0;
	while (first < names->count && !packed_is_named(names->names[first]))
		first++;
	if (!progress->stage || first == names->count)
		return 0;
	struct packed *packed = calloc(1, sizeof(*packed));
	if (!packed)
		return -ENOMEM;
	packed->inner = *folder;
	packed->storage = *folder->storage;
	packed->storage.at_once = 0; /* what is read is on the disk */
	packed->storage.list = NULL; /* shards are known by name */
	packed->storage.identify = NULL;
	packed->storage.close = packed_close;
	packed->storage.read_range = packed_read_range;
	packed->storage.version = packed_version;
	*folder = (struct storage_folder){&packed->storage, packed};
	return packed_fill(packed, names, progress, fault);
}
