/* SPDX-License-Identifier: MIT */
#include "client/ctl/show/lists.h"

#include <string.h>

#include "client/ctl/show/table.h"

static const struct {
	const char *what;
	enum row_kind kind;
	const char *keys, *none;
} lists[] = {
	{"streams", ROW_STREAM,
	 "stream dataset samples shuffle sampler_name echo views readers rings ring_bytes "
	 "limited_by images_per_second stage_hit_rate decoded delivered pipeline",
	 "no stream: no reader is attached"},
	{"readers", ROW_READER,
	 "reader pid uid job rank/world stream ring batch_size epoch position leased/inflight "
	 "state waits_for waited limited_by images_per_second delivered age_s client",
	 "no reader is attached"},
	{"producers", ROW_PRODUCER,
	 "producer pid uid code place state sample since_s lent made failed sample_ms cpu_s memory",
	 "no process makes samples by a user's own code"},
	{"datasets", ROW_DATASET,
	 "dataset kind state found samples classes index_bytes fingerprint path",
	 "no dataset is open"},
	{"cache", ROW_CACHE,
	 "dataset samples pictures files bytes hits disk objects object_bytes object_pinned "
	 "object_hits path",
	 "no dataset of files is open"},
	{"memory", ROW_MEMORY, "what bytes limit setting", ""},
	{"bad", ROW_BAD, "dataset sample count name path text", "no bad sample was found"},
};

void lists_print(FILE *file, const char *what, const json_t *items, bool bold)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (strcmp(lists[i].what, what) != 0)
			continue;
		table_print(file, items, lists[i].kind, lists[i].keys, bold);
		if (json_array_size(items) == 0 && bold)
			fprintf(stderr, "%s\n", lists[i].none);
	}
}
