// SPDX-License-Identifier: MIT
#include "survey/kept_sizes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "stoksize"
#define VERSION 1 /* raise it with every change of what is kept or how it is found */

/* Behind it: the sizes, and XXH3-128 of all before. */
struct kept_head {
	struct keep_head head;
	uint64_t count;
};

_Static_assert(sizeof(struct kept_head) % sizeof(uint64_t) == 0 && sizeof(struct kept_size) == 16,
	       "sizes are aligned in the file, and without padding");

struct keep_file kept_sizes_file(const char *folder, uint32_t owner,
				 const struct kept_sizes_key *key)
{
	struct keep_file file = {.folder = folder, .ending = ".sizes", .owner = owner};
	const struct {
		struct digest dataset, path;
		uint64_t exif, type, channels, max_pixels, max_coefficient_bytes, max_scans;
	} all = {
		key->dataset,
		digest_of(key->path, strlen(key->path)),
		key->exif,
		key->form.type,
		key->form.channels,
		key->limits->max_pixels,
		key->limits->max_coefficient_bytes,
		key->limits->max_scans,
	};
	file.name = digest_of(&all, sizeof(all));
	return file;
}

bool kept_sizes_parse(struct kept_sizes *out, const struct keep_head *head, uint8_t *bytes,
		      uint64_t size, uint64_t count)
{
	struct keep_source source = {bytes, size};
	struct kept_head own;
	const void *taken = keep_take(&source, 1, sizeof(own));
	if (!taken)
		return false;
	memcpy(&own, taken, sizeof(own));
	if (memcmp(&own.head, head, sizeof(*head)) != 0 || own.count != count ||
	    !keep_take(&source, count, sizeof(struct kept_size)) || source.left)
		return false;
	struct kept_size *sizes = (void *)(bytes + sizeof(own));
	for (uint64_t i = 0; i < count; i++)
		if (sizes[i].size.width < 0 || sizes[i].size.height < 0 ||
		    !sizes[i].size.width != !sizes[i].size.height)
			return false;
	*out = (struct kept_sizes){count, sizes, bytes};
	return true;
}

int kept_sizes_load(struct kept_sizes *out, const struct keep_file *file, uint64_t count)
{
	const struct keep_head head = keep_head_of(file, MAGIC, VERSION);
	uint64_t size = 0;
	uint8_t *bytes = keep_file_read(file, &head, &size);
	if (bytes && kept_sizes_parse(out, &head, bytes, size, count))
		return 0;
	free(bytes);
	struct kept_size *sizes = calloc(count, sizeof(*sizes));
	if (!sizes)
		return -ENOMEM;
	*out = (struct kept_sizes){count, sizes, sizes};
	return 0;
}

bool kept_sizes_save(const struct kept_sizes *sizes, const struct keep_file *file)
{
	const struct kept_head head = {keep_head_of(file, MAGIC, VERSION), sizes->count};
	struct keep_sink *sink = keep_sink_begin(file);
	if (sink) {
		keep_put(sink, &head, 1, sizeof(head));
		keep_put(sink, sizes->sizes, sizes->count, sizeof(*sizes->sizes));
	}
	return keep_sink_end(sink);
}

void kept_sizes_deinit(struct kept_sizes *sizes)
{
	free(sizes->memory);
	*sizes = KEPT_SIZES_NULL;
}
