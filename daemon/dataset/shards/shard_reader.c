// SPDX-License-Identifier: MIT
#include "dataset/shards/shard_reader.h"

#include <string.h>
#include <strings.h>

#include "storage/packing.h"

/* A header, a label behind it and the next header are mostly read at once; pictures are not. */
#define WINDOW_NEAR ((uint64_t)16 << 10) /* from this machine, where a page costs nothing */
#define WINDOW_FAR ((uint64_t)4 << 10)	 /* from a server: few bytes that nobody wants */
#define WINDOW_DENSE_NEAR ((uint64_t)256 << 10)
#define WINDOW_DENSE_FAR ((uint64_t)64 << 10)
#define DENSE_BELOW ((uint64_t)16 << 10) /* bytes from one header to the next */

int shard_reader_begin(struct shard_reader *reader, const struct storage_folder *folder,
		       const char *name, struct fault *fault)
{
	int result;
	reader->folder = folder;
	reader->name = name;
	reader->window.size = 0;
	reader->used = 0;
	reader->dense = false;
	if (reader->from && shard_record_version(reader->from, &reader->version, &result, fault))
		return result;
	result = folder->storage->version(folder->state, name, &reader->version, fault);
	result = result > 0 ? TAR_E_BAD : result;
	if (reader->into && result)
		shard_record_fail(reader->into, 0, result, fault);
	if (reader->into && !result && !shard_record_begin(reader->into, &reader->version))
		return fault_say(fault, TAR_E_BAD, "it is not looked ahead any further");
	return result;
}

/* Bytes to read at `offset`, of which `size` are wanted. */
static uint64_t shard_reader_window(struct shard_reader *reader, uint64_t offset, size_t size)
{
	uint64_t passed = offset > reader->used ? offset - reader->used : 0;
	uint64_t rest = reader->version.size - offset;
	bool far = reader->folder->storage->at_once > 1;
	if (passed >= TAR_BLOCK)
		reader->dense = passed < DENSE_BELOW;
	uint64_t window = far ? WINDOW_FAR : WINDOW_NEAR;
	if (reader->dense)
		window = far ? WINDOW_DENSE_FAR : WINDOW_DENSE_NEAR;
	window = window > size ? window : size;
	return window < rest ? window : rest;
}

static int shard_reader_fill(struct shard_reader *reader, uint64_t offset, size_t size,
			     struct fault *fault)
{
	struct storage_version version;
	const struct storage *storage = reader->folder->storage;
	struct storage_range range = {offset, shard_reader_window(reader, offset, size)};
	reader->window.size = 0;
	int result = storage->read_range(reader->folder->state, reader->name, range, UINT64_MAX,
					 &reader->window, &version, fault);
	if (result)
		return result > 0 ? TAR_E_BAD : result;
	if (!storage_version_equal(&version, &reader->version))
		return fault_say(
			fault, TAR_E_BAD,
			"it was changed while it was indexed: open it when it changes no more");
	reader->at = offset;
	return 0;
}

int shard_reader_fetch(void *context, uint64_t offset, size_t size, const uint8_t **out,
		       struct fault *fault)
{
	struct shard_reader *reader = context;
	const struct buffer *window = &reader->window;
	int result = 0;
	if (reader->from && shard_record_give(reader->from, offset, size, out, &result, fault))
		return result;
	if (offset < reader->at || offset + size > reader->at + window->size)
		result = shard_reader_fill(reader, offset, size, fault);
	if (reader->into && result)
		shard_record_fail(reader->into, offset, result, fault);
	if (result)
		return result;
	*out = window->data + (offset - reader->at);
	reader->used = offset + size;
	if (reader->into && !shard_record_take(reader->into, offset, *out, size))
		return fault_say(fault, TAR_E_BAD, "it is not looked ahead any further");
	return 0;
}

int shard_reader_end(const struct shard_reader *reader, struct fault *fault)
{
	struct storage_version version;
	if (reader->from && reader->from->whole)
		return 0;
	int result = reader->folder->storage->version(reader->folder->state, reader->name, &version,
						      fault);
	if (result)
		return result > 0 ? TAR_E_BAD : result;
	return storage_version_equal(&version, &reader->version)
		       ? 0
		       : fault_say(fault, TAR_E_BAD,
				   "it was changed while it was indexed: open it when it changes "
				   "no more");
}

const char *shard_reader_packing(struct shard_reader *reader)
{
	const uint8_t *data = NULL;
	struct fault unused;
	if (reader->version.size < PACKING_HEAD ||
	    shard_reader_fetch(reader, 0, PACKING_HEAD, &data, &unused))
		return NULL;
	const struct packing *packing = packing_of(data);
	return packing ? packing->name : NULL;
}

bool shard_reader_is_page(struct shard_reader *reader)
{
	static const char *const heads[] = {"<!doctype html", "<html"};
	const uint8_t *data = NULL;
	struct fault unused;
	if (reader->version.size < 16 || shard_reader_fetch(reader, 0, 16, &data, &unused))
		return false;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		if (strncasecmp((const char *)data, heads[i], strlen(heads[i])) == 0)
			return true;
	}
	return false;
}

void shard_reader_deinit(struct shard_reader *reader)
{
	buffer_deinit(&reader->window);
	*reader = SHARD_READER_NULL;
}
