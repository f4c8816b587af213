/* SPDX-License-Identifier: MIT */
#include "client/ctl/show/lists.h"

#include <string.h>

#include "client/ctl/show/table.h"

static const struct column stream_columns[] = {
	{"STREAM", "stream", NULL, UNIT_PLAIN, false},
	{"DATASET", "dataset", NULL, UNIT_PLAIN, false},
	{"SAMPLES", "samples", NULL, UNIT_PLAIN, false},
	{"SHUFFLE", "shuffle", NULL, UNIT_PLAIN, true},
	{"SAMPLER", "sampler_name", NULL, UNIT_PLAIN, true},
	{"ECHO", "echo", NULL, UNIT_PLAIN, false},
	{"VIEWS", "views", NULL, UNIT_PLAIN, false},
	{"READERS", "readers", NULL, UNIT_PLAIN, false},
	{"RINGS", "rings", NULL, UNIT_PLAIN, false},
	{"MEMORY", "ring_bytes", NULL, UNIT_BYTES, false},
	{"LIMITED BY", "limited_by", NULL, UNIT_PLAIN, true},
	{"IMAGES/S", "images_per_second", NULL, UNIT_RATE, false},
	{"STAGED", "stage_hit_rate", NULL, UNIT_SHARE, false},
	{"DECODED", "decoded", NULL, UNIT_PLAIN, false},
	{"DELIVERED", "delivered", NULL, UNIT_PLAIN, false},
	{"DTYPE", "dtype", NULL, UNIT_PLAIN, true},
	{"LAYOUT", "layout", NULL, UNIT_PLAIN, true},
	{"PIPELINE", "pipeline", NULL, UNIT_PLAIN, true},
};

static const struct column reader_columns[] = {
	{"READER", "reader", NULL, UNIT_PLAIN, false},
	{"PID", "pid", NULL, UNIT_PLAIN, false},
	{"UID", "uid", NULL, UNIT_PLAIN, false},
	{"JOB", "job", NULL, UNIT_PLAIN, true},
	{"RANK", "rank", "world", UNIT_PLAIN, false},
	{"STREAM", "stream", NULL, UNIT_PLAIN, false},
	{"RING", "ring", NULL, UNIT_PLAIN, false},
	{"BATCH", "batch_size", NULL, UNIT_PLAIN, false},
	{"EPOCH", "epoch", NULL, UNIT_PLAIN, false},
	{"POSITION", "position", NULL, UNIT_PLAIN, false},
	{"HELD", "leased", "inflight", UNIT_PLAIN, false},
	{"STATE", "state", NULL, UNIT_PLAIN, true},
	{"FOR", "waits_for", NULL, UNIT_REFERENCE, false},
	{"LIMITED BY", "limited_by", NULL, UNIT_PLAIN, true},
	{"IMAGES/S", "images_per_second", NULL, UNIT_RATE, false},
	{"DELIVERED", "delivered", NULL, UNIT_PLAIN, false},
	{"AGE", "age_s", NULL, UNIT_SECONDS, false},
	{"CLIENT", "client", NULL, UNIT_PLAIN, true},
};

static const struct column dataset_columns[] = {
	{"DATASET", "dataset", NULL, UNIT_PLAIN, false},
	{"KIND", "kind", NULL, UNIT_PLAIN, true},
	{"STATE", "state", NULL, UNIT_PLAIN, true},
	{"FOUND", "found", NULL, UNIT_PLAIN, false},
	{"SAMPLES", "samples", NULL, UNIT_PLAIN, false},
	{"CLASSES", "classes", NULL, UNIT_PLAIN, false},
	{"BAD", "bad", NULL, UNIT_PLAIN, false},
	{"STREAMS", "streams", NULL, UNIT_PLAIN, false},
	{"INDEX", "index_bytes", NULL, UNIT_BYTES, false},
	{"FINGERPRINT", "fingerprint", NULL, UNIT_PLAIN, true},
	{"PATH", "path", NULL, UNIT_PLAIN, true},
};

static const struct column cache_columns[] = {
	{"DATASET", "dataset", NULL, UNIT_PLAIN, false},
	{"SAMPLES", "samples", NULL, UNIT_PLAIN, false},
	{"PICTURES", "pictures", NULL, UNIT_PLAIN, false},
	{"FILES", "files", NULL, UNIT_PLAIN, false},
	{"MEMORY", "bytes", NULL, UNIT_BYTES, false},
	{"HITS", "hits", NULL, UNIT_PLAIN, false},
	{"DISK", "disk", NULL, UNIT_PLAIN, true},
	{"OBJECTS", "objects", NULL, UNIT_PLAIN, false},
	{"STAGED", "object_bytes", NULL, UNIT_BYTES, false},
	{"PINNED", "object_pinned", NULL, UNIT_BYTES, false},
	{"STAGED HITS", "object_hits", NULL, UNIT_PLAIN, false},
	{"PATH", "path", NULL, UNIT_PLAIN, true},
};

static const struct column memory_columns[] = {
	{"WHAT", "what", NULL, UNIT_PLAIN, true},
	{"MEMORY", "bytes", NULL, UNIT_BYTES, false},
	{"LIMIT", "limit", NULL, UNIT_BYTES, false},
	{"SETTING", "setting", NULL, UNIT_PLAIN, true},
};

static const struct column bad_columns[] = {
	{"DATASET", "dataset", NULL, UNIT_PLAIN, false},
	{"SAMPLE", "sample", NULL, UNIT_PLAIN, false},
	{"COUNT", "count", NULL, UNIT_PLAIN, false},
	{"ERROR", "name", NULL, UNIT_PLAIN, true},
	{"PATH", "path", NULL, UNIT_PLAIN, true},
	{"WHAT", "text", NULL, UNIT_PLAIN, true},
};

static const struct {
	const char *what;
	const struct column *columns;
	size_t count;
	const char *none;
} lists[] = {
	{"streams", stream_columns, sizeof(stream_columns) / sizeof(*stream_columns),
	 "no stream: no reader is attached"},
	{"readers", reader_columns, sizeof(reader_columns) / sizeof(*reader_columns),
	 "no reader is attached"},
	{"datasets", dataset_columns, sizeof(dataset_columns) / sizeof(*dataset_columns),
	 "no dataset is open"},
	{"cache", cache_columns, sizeof(cache_columns) / sizeof(*cache_columns),
	 "no dataset of files is open"},
	{"memory", memory_columns, sizeof(memory_columns) / sizeof(*memory_columns), ""},
	{"bad", bad_columns, sizeof(bad_columns) / sizeof(*bad_columns), "no bad sample was found"},
};

void lists_print(FILE *file, const char *what, const json_t *items, bool bold)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (strcmp(lists[i].what, what) != 0)
			continue;
		table_print(file, items, lists[i].columns, lists[i].count, bold);
		if (json_array_size(items) == 0 && bold)
			fprintf(stderr, "%s\n", lists[i].none);
	}
}
