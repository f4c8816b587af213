// SPDX-License-Identifier: MIT
#include "dataset/shards/unpacked.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/quote.h"

#define PIECE ((uint64_t)256 << 10)   /* a picture or two */
#define CHUNK ((uint64_t)4 << 20)     /* of the packed file, a read each */
#define BYTES_MAX ((uint64_t)1 << 40) /* of a shard */

uint64_t unpacked_memory(const struct unpacked *shard)
{
	return CHUNK + PIECE + shard->packing->memory;
}

/* -- pieces ----------------------------------------------------------------------------------- */

static int piece_item(const struct unpacked *shard, uint64_t offset, struct stage_item *out)
{
	const struct unpacked_home *home = shard->home;
	const struct stage *stage = stage_of_set(home->set);
	const struct storage_version *version = &shard->version;
	char *text;
	int origin = asprintf(&text, "unpacked:%" PRIx64 ":%" PRIx64 ":%s/%s", home->id[0],
			      home->id[1], home->root, shard->name);
	if (origin < 0)
		return -ENOMEM;
	int result = stage_name(stage, text, offset, storage_version_mark(version), &out->object);
	text[(size_t)origin - strlen(shard->name)] = '\0';
	result = result ? result : stage_name(stage, text, 0, 0, &out->origin);
	free(text);
	out->version =
		(struct stage_version){{version->device, version->inode, version->size,
					(uint64_t)version->mtime_ns, (uint64_t)version->ctime_ns}};
	return result;
}

/* Item with the size of all pieces, which is written last. */
int unpacked_item(const struct unpacked *shard, struct stage_item *out)
{
	return piece_item(shard, UINT64_MAX, out);
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

bool unpacked_read(const struct unpacked *shard, const struct stage_use *use,
		   struct storage_range range, uint8_t *to)
{
	struct buffer piece = BUFFER_NULL;
	bool found = true;
	uint64_t at = range.offset - range.offset % PIECE;
	for (; found && at < range.offset + range.length; at += PIECE) {
		struct stage_item item;
		found = piece_item(shard, at, &item) == 0 &&
			stage_find(use, &item, PIECE, &piece, clock_ns()) &&
			piece.size == least(PIECE, shard->size - at);
		if (found)
			piece_copy(&piece, at, range, to);
	}
	buffer_deinit(&piece);
	return found;
}

bool unpacked_is_kept(struct unpacked *shard)
{
	const struct stage_use use = {.set = shard->home->set};
	struct stage_item item;
	struct buffer text = BUFFER_NULL;
	bool kept = unpacked_item(shard, &item) == 0 &&
		    stage_find(&use, &item, sizeof(shard->size), &text, clock_ns()) &&
		    text.size == sizeof(shard->size);
	if (kept)
		memcpy(&shard->size, text.data, sizeof(shard->size));
	buffer_deinit(&text);
	for (uint64_t at = 0; kept && at < shard->size; at += PIECE)
		kept = piece_item(shard, at, &item) == 0 &&
		       stage_has(stage_of_set(use.set), &item.object);
	return kept;
}

void unpacked_forget(const struct unpacked *shard)
{
	struct stage *stage = stage_of_set(shard->home->set);
	struct stage_item item;
	for (uint64_t at = 0; at < shard->size; at += PIECE)
		if (piece_item(shard, at, &item) == 0)
			stage_remove(stage, &item);
	if (unpacked_item(shard, &item) == 0)
		stage_remove(stage, &item);
}

/* -- unpacking -------------------------------------------------------------------------------- */

struct unpacking {
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

static int unpacking_check(struct unpacking *unpacking)
{
	if (unpacking->cancel && atomic_load(unpacking->cancel))
		return fault_say(unpacking->fault, DATASET_E_CANCELLED, "opening was cancelled");
	return 0;
}

static int unpacking_fill(struct unpacking *unpacking, uint64_t length)
{
	const struct storage_folder *inner = &unpacking->shard->home->inner;
	const struct unpacked *shard = unpacking->shard;
	const struct storage_range range = {unpacking->taken, length};
	struct storage_version version;
	int result = unpacking_check(unpacking);
	if (result)
		return result;
	result = inner->storage->read_range(inner->state, shard->name, range, CHUNK,
					    &unpacking->chunk, &version, unpacking->fault);
	if (result)
		return result < 0 ? result : DATASET_E_OPEN;
	return storage_version_equal(&version, &shard->version)
		       ? 0
		       : unpacking_say(unpacking, "it was changed while it was read");
}

static ssize_t unpacking_fetch(void *context, const uint8_t **out)
{
	struct unpacking *unpacking = context;
	uint64_t length = least(CHUNK, unpacking->shard->version.size - unpacking->taken);
	if (length)
		unpacking->result = unpacking_fill(unpacking, length);
	if (unpacking->result)
		return -1;
	unpacking->taken += length;
	*out = unpacking->chunk.data;
	return (ssize_t)length;
}

static int unpacking_keep(struct unpacking *unpacking, uint64_t offset, const struct buffer *bytes)
{
	struct stage_item item;
	int result = piece_item(unpacking->shard, offset, &item);
	if (result)
		return result;
	stage_keep(unpacking->use, &item, bytes, clock_ns());
	if (unpacking->cancel && !stage_has(stage_of_set(unpacking->use->set), &item.object))
		return unpacking_say(unpacking, "there is no room to unpack it: cache-size and "
						"cache-free allow no more, or the disk is full");
	return 0;
}

static int unpacking_piece(struct unpacking *unpacking)
{
	uint64_t at = unpacking->given;
	if (at >= BYTES_MAX)
		return unpacking_say(unpacking, "it has more than 1 TiB");
	int result = unpacking_check(unpacking);
	if (result)
		return result;
	unpacking->given += unpacking->piece.size;
	if (unpacking->to)
		piece_copy(&unpacking->piece, at, unpacking->range, unpacking->to);
	return unpacking_keep(unpacking, at, &unpacking->piece);
}

/* Turn the packing's condition into one of the unpacking. */
static int unpacking_hear(struct unpacking *unpacking, int result, const struct fault *why)
{
	if (result == PACKING_E_FETCH)
		return unpacking->result;
	return result > 0 ? unpacking_say(unpacking, why->text) : result;
}

static int unpacking_pieces(struct unpacking *unpacking, void *state)
{
	struct buffer *piece = &unpacking->piece;
	for (;;) {
		struct fault why;
		int result = unpacking->shard->packing->read(state, piece->data, PIECE,
							     &piece->size, &why);
		result = unpacking_hear(unpacking, result, &why);
		if (result || piece->size == 0)
			return result;
		result = unpacking_piece(unpacking);
		if (result)
			return result;
	}
}

static int unpacking_run(struct unpacking *unpacking)
{
	const struct packing *packing = unpacking->shard->packing;
	const struct packing_source source = {unpacking_fetch, unpacking};
	struct fault why;
	void *state = NULL;
	int result = buffer_reserve(&unpacking->piece, PIECE);
	if (!result) {
		result = packing->open(&state, packing, &source, &why);
		result = unpacking_hear(unpacking, result, &why);
	}
	if (!result)
		result = unpacking_pieces(unpacking, state);
	packing->close(state);
	buffer_deinit(&unpacking->piece);
	buffer_deinit(&unpacking->chunk);
	return result;
}

int unpacked_make(struct unpacked *shard, const atomic_bool *cancel, struct fault *fault)
{
	const struct stage_use use = {.set = shard->home->set};
	struct unpacking unpacking = {shard, &use, cancel, .fault = fault};
	struct buffer size = BUFFER_NULL;
	int result = unpacking_run(&unpacking);
	shard->size = unpacking.given;
	if (!result && !shard->size)
		result = unpacking_say(&unpacking, "it is empty");
	if (!result)
		result = buffer_reserve(&size, sizeof(shard->size));
	if (!result) {
		memcpy(size.data, &shard->size, sizeof(shard->size));
		size.size = sizeof(shard->size);
		result = unpacking_keep(&unpacking, UINT64_MAX, &size);
	}
	buffer_deinit(&size);
	if (result) /* a part is of use to nobody */
		unpacked_forget(shard);
	return result;
}

int unpacked_read_again(const struct unpacked *shard, const struct stage_use *use,
			struct storage_range range, uint8_t *to, struct fault *fault)
{
	struct unpacking unpacking = {shard, use, NULL, range, to, .fault = fault};
	int result = unpacking_run(&unpacking);
	if (!result && unpacking.given != shard->size)
		result = unpacking_say(&unpacking, "it has another size now");
	if (result > 0 && !unpacking.result) /* it is damaged: what was kept of it may be, too */
		unpacked_forget(shard);
	return result > 0 ? STORAGE_E_READ : result;
}
