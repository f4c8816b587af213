// SPDX-License-Identifier: MIT
#include "dataset/shards/shard_reader.h"

#include <string.h>
#include <strings.h>

/* A header, a label behind it and the next header are mostly read at once; pictures are not. */
#define WINDOW ((uint64_t)16 << 10)

int shard_reader_begin(struct shard_reader *reader, const struct storage_folder *folder,
		       const char *name, struct fault *fault)
{
	reader->folder = folder;
	reader->name = name;
	reader->window.size = 0;
	int result = folder->storage->version(folder->state, name, &reader->version, fault);
	return result > 0 ? TAR_E_BAD : result;
}

int shard_reader_fetch(void *context, uint64_t offset, size_t size, const uint8_t **out,
		       struct fault *fault)
{
	struct shard_reader *reader = context;
	struct buffer *window = &reader->window;
	struct storage_version version;
	if (offset < reader->at || offset + size > reader->at + window->size) {
		uint64_t length = size < WINDOW ? WINDOW : size,
			 rest = reader->version.size - offset;
		struct storage_range range = {offset, length < rest ? length : rest};
		window->size = 0;
		int result = reader->folder->storage->read_range(reader->folder->state,
								 reader->name, range, UINT64_MAX,
								 window, &version, fault);
		if (result)
			return result > 0 ? TAR_E_BAD : result;
		if (!storage_version_equal(&version, &reader->version))
			return fault_say(fault, TAR_E_BAD, "it was changed while it was indexed");
		reader->at = offset;
	}
	*out = window->data + (offset - reader->at);
	return 0;
}

int shard_reader_end(const struct shard_reader *reader, struct fault *fault)
{
	struct storage_version version;
	int result = reader->folder->storage->version(reader->folder->state, reader->name, &version,
						      fault);
	if (result)
		return result > 0 ? TAR_E_BAD : result;
	return storage_version_equal(&version, &reader->version)
		       ? 0
		       : fault_say(fault, TAR_E_BAD, "it was changed while it was indexed");
}

const char *shard_reader_packing(struct shard_reader *reader)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *name;
	} packings[] = {
		{"\x1f\x8b", 2, "gzip"},
		{"\x28\xb5\x2f\xfd", 4, "zstd"},
		{"BZh", 3, "bzip2"},
		{"\xfd"
		 "7zXZ",
		 5, "xz"},
		{"\x04\x22\x4d\x18", 4, "lz4"},
	};
	const uint8_t *data = NULL;
	struct fault unused;
	if (reader->version.size < 5 || shard_reader_fetch(reader, 0, 5, &data, &unused))
		return NULL;
	for (size_t i = 0; i < sizeof(packings) / sizeof(packings[0]); i++) {
		if (memcmp(data, packings[i].bytes, packings[i].size) == 0)
			return packings[i].name;
	}
	return NULL;
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
