// SPDX-License-Identifier: MIT
#include "loop/watch/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "loop/meter/histogram.h"
#include "loop/policy/reader_status.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "proto/counter.h"

#define LABEL_SIZE 128
#define BILLION 1000000000u

/* A family is all samples of one name; `name` is without the _total of a counter. */
struct exposition {
	struct writer *writer;
	bool open; /* OpenMetrics */
	char name[LABEL_SIZE];
	const char *suffix; /* of a sample: "_total" of a counter */
};

enum family_kind { FAMILY_COUNTER, FAMILY_GAUGE, FAMILY_HISTOGRAM };

/* In the old format HELP and TYPE of a counter name its samples, in OpenMetrics its family. */
static void family(struct exposition *exposition, enum family_kind kind, const char *name,
		   const char *help)
{
	static const char *const kinds[] = {"counter", "gauge", "histogram"};
	exposition->suffix = kind == FAMILY_COUNTER ? "_total" : "";
	snprintf(exposition->name, sizeof(exposition->name), "%s", name);
	const char *suffix = exposition->open ? "" : exposition->suffix;
	writer_add(exposition->writer, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name,
		   suffix, kinds[kind]);
}

/* `labels` in braces, or "". */
static void sample(struct exposition *exposition, const char *labels, uint64_t value)
{
	writer_add(exposition->writer, "%s%s%s %" PRIu64 "\n", exposition->name, exposition->suffix,
		   labels, value);
}

static void sample_ns(struct exposition *exposition, const char *labels, uint64_t ns)
{
	writer_add(exposition->writer, "%s%s%s %" PRIu64 ".%09" PRIu64 "\n", exposition->name,
		   exposition->suffix, labels, ns / BILLION, ns % BILLION);
}

static void gauge(struct exposition *exposition, const char *name, const char *help, uint64_t value)
{
	family(exposition, FAMILY_GAUGE, name, help);
	sample(exposition, "", value);
}

/* Is there a gauge of this name? */
static bool is_gauge(const char *name, size_t size)
{
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (counter_facts[i].kind == COUNTER_KIND_GAUGE &&
		    strlen(counter_facts[i].name) == size &&
		    strncmp(counter_facts[i].name, name, size) == 0)
			return true;
	return false;
}

/* stoker_work_seconds of work_ns_total. A family has one type: readers_total, beside the gauge
 * readers, is stoker_readers_seen. */
static void family_name(const struct counter_facts *facts, char out[LABEL_SIZE])
{
	size_t size = strlen(facts->name);
	if (facts->kind == COUNTER_KIND_TOTAL)
		size -= strlen("_total");
	if (facts->unit == UNIT_NS)
		size -= strlen("_ns");
	bool taken = facts->kind == COUNTER_KIND_TOTAL && is_gauge(facts->name, size);
	snprintf(out, LABEL_SIZE, "stoker_%.*s%s", (int)size, facts->name,
		 facts->unit == UNIT_NS ? "_seconds"
		 : taken		? "_seen"
					: "");
}

static void write_counters(struct exposition *exposition, const struct core *core)
{
	for (int i = 0; i < COUNTER_COUNT; i++) {
		const struct counter_facts *facts = &counter_facts[i];
		bool total = facts->kind == COUNTER_KIND_TOTAL;
		char name[LABEL_SIZE];
		family_name(facts, name);
		family(exposition, total ? FAMILY_COUNTER : FAMILY_GAUGE, name, facts->help);
		if (facts->unit == UNIT_NS)
			sample_ns(exposition, "", core->counters[i]);
		else
			sample(exposition, "", core->counters[i]);
	}
}

static void write_histogram(struct exposition *exposition, const char *name, const char *help,
			    const struct histogram *histogram)
{
	char whole[LABEL_SIZE];
	uint64_t count = 0;
	snprintf(whole, sizeof(whole), "stoker_%s_seconds", name);
	family(exposition, FAMILY_HISTOGRAM, whole, help);
	for (int i = 0; i <= HISTOGRAM_BOUNDS; i++) {
		char bound[32] = "+Inf";
		count += histogram->counts[i];
		if (i < HISTOGRAM_BOUNDS)
			snprintf(bound, sizeof(bound), "%g",
				 (double)histogram_bounds_ns[i] / BILLION);
		writer_add(exposition->writer, "%s_bucket{le=\"%s\"} %" PRIu64 "\n", whole, bound,
			   count);
	}
	exposition->suffix = "_sum";
	sample_ns(exposition, "", histogram->sum_ns);
	exposition->suffix = "_count";
	sample(exposition, "", count);
}

static void write_histograms(struct exposition *exposition, const struct core *core)
{
#define HISTOGRAM_WRITE(NAME, name, help)                                                          \
	write_histogram(exposition, #name, help, &core->histograms[HISTOGRAM_##NAME]);
	HISTOGRAM_TABLE(HISTOGRAM_WRITE)
#undef HISTOGRAM_WRITE
}

static void write_budgets(struct exposition *exposition, const struct core *core)
{
	const struct config *config = core->config;
	gauge(exposition, "stoker_ring_memory_bytes", "limit of the memory of all rings",
	      config->ring_memory);
	gauge(exposition, "stoker_dataset_memory_bytes", "limit of the memory of arrays",
	      config->dataset_memory);
	gauge(exposition, "stoker_index_memory_bytes", "limit of the memory of seek indexes",
	      config->index_memory);
	gauge(exposition, "stoker_cache_memory_bytes", "limit of the memory of decoded pictures",
	      config->cache_memory);
	gauge(exposition, "stoker_connections_max", "limit of the trainers' connections",
	      config->max_connections);
}

static uint64_t nanoseconds(struct timeval time)
{
	return (uint64_t)time.tv_sec * BILLION + (uint64_t)time.tv_usec * 1000;
}

static void write_process(struct exposition *exposition, uint64_t started_ns)
{
	struct rusage usage;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	uint64_t now_ns = (uint64_t)now.tv_sec * BILLION + (uint64_t)now.tv_nsec;
	family(exposition, FAMILY_GAUGE, "stoker_build_info", "version of the daemon, as a label");
	sample(exposition, "{version=\"" STOKER_VERSION "\"}", 1);
	family(exposition, FAMILY_GAUGE, "process_start_time_seconds",
	       "when the daemon was started, since the epoch");
	sample_ns(exposition, "", now_ns - (clock_ns() - started_ns));
	if (getrusage(RUSAGE_SELF, &usage))
		return;
	family(exposition, FAMILY_COUNTER, "process_cpu_seconds",
	       "processor time of the whole daemon");
	sample_ns(exposition, "", nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime));
}

/* -- one by one ------------------------------------------------------------------------------ */

static void reader_labels(const struct reader *reader, char out[LABEL_SIZE])
{
	snprintf(out, LABEL_SIZE,
		 "{reader=\"%" PRIu64 "\",stream=\"%" PRIu64 "\",rank=\"%" PRIu64 "\",uid=\"%u\"}",
		 reader->id, reader->stream->id, (uint64_t)reader->share.rank,
		 (unsigned)reader->uid);
}

static void write_reader_numbers(struct exposition *exposition, const struct core *core)
{
	char labels[LABEL_SIZE];
	unsigned shown = 0;
	family(exposition, FAMILY_COUNTER, "stoker_reader_samples_delivered",
	       "samples delivered to this reader");
	list_for_each(reader, next, &core->readers, struct reader, in_core) {
		if (shown++ >= METRICS_MOST)
			break;
		reader_labels(reader, labels);
		sample(exposition, labels, reader->announced);
	}
	shown = 0;
	family(exposition, FAMILY_GAUGE, "stoker_reader_leased_batches",
	       "batches that this reader holds");
	list_for_each(reader, next, &core->readers, struct reader, in_core) {
		if (shown++ >= METRICS_MOST)
			break;
		reader_labels(reader, labels);
		sample(exposition, labels, reader->leased);
	}
}

static void write_reader_waits(struct exposition *exposition, const struct core *core)
{
	static const char *const causes[] = {"trainer", "storage", "decode", "slot"};
	char labels[LABEL_SIZE];
	unsigned shown = 0;
	family(exposition, FAMILY_COUNTER, "stoker_reader_wait_seconds",
	       "time of this reader by what it waited for; trainer: it held all its batches");
	list_for_each(reader, next, &core->readers, struct reader, in_core) {
		const struct wait_time wait = reader_wait_now(reader);
		if (shown++ >= METRICS_MOST)
			break;
		for (int i = 0; i < WAIT_CAUSES; i++) {
			snprintf(labels, sizeof(labels),
				 "{reader=\"%" PRIu64 "\",stream=\"%" PRIu64 "\",cause=\"%s\"}",
				 reader->id, reader->stream->id, causes[i]);
			sample_ns(exposition, labels, wait.ns[i]);
		}
	}
}

static uint64_t stream_ring_bytes(const struct stream *stream)
{
	uint64_t bytes = 0;
	list_for_each(ring, next, &stream->rings, struct ring, link)
		bytes += ring->segment.backed;
	return bytes;
}

static uint64_t stream_decoded(const struct stream *stream)
{
	return stream->decoded;
}

static uint64_t stream_delivered(const struct stream *stream)
{
	return stream->delivered;
}

static uint64_t stream_stage_hits(const struct stream *stream)
{
	return stream->stage_hits;
}

static uint64_t stream_stage_misses(const struct stream *stream)
{
	return stream->stage_misses;
}

static void write_streams(struct exposition *exposition, const struct core *core)
{
	static const struct {
		enum family_kind kind;
		const char *name, *help;
		uint64_t (*value)(const struct stream *stream);
	} families[] = {
		{FAMILY_COUNTER, "stoker_stream_samples_decoded", "samples made for this stream",
		 stream_decoded},
		{FAMILY_COUNTER, "stoker_stream_samples_delivered",
		 "samples delivered to the readers of this stream", stream_delivered},
		{FAMILY_COUNTER, "stoker_stream_stage_hits",
		 "reads for this stream that cache-dir had", stream_stage_hits},
		{FAMILY_COUNTER, "stoker_stream_stage_misses",
		 "reads for this stream of what cache-dir could have had", stream_stage_misses},
		{FAMILY_GAUGE, "stoker_stream_ring_bytes", "memory of the rings of this stream",
		 stream_ring_bytes},
	};
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
		unsigned shown = 0;
		family(exposition, families[i].kind, families[i].name, families[i].help);
		list_for_each(stream, next, &core->streams, struct stream, link) {
			char labels[LABEL_SIZE];
			if (shown++ >= METRICS_MOST)
				break;
			snprintf(labels, sizeof(labels),
				 "{stream=\"%" PRIu64 "\",dataset=\"%" PRIu64 "\"}", stream->id,
				 stream->entry->id);
			sample(exposition, labels, families[i].value(stream));
		}
	}
}

static void write_datasets(struct exposition *exposition, const struct core *core)
{
	char labels[LABEL_SIZE];
	unsigned shown = 0;
	family(exposition, FAMILY_GAUGE, "stoker_dataset_samples",
	       "samples of this dataset, or found so far");
	list_for_each(entry, next, &core->datasets, struct dataset_entry, link) {
		if (shown++ >= METRICS_MOST)
			break;
		snprintf(labels, sizeof(labels), "{dataset=\"%" PRIu64 "\"}", entry->id);
		sample(exposition, labels,
		       entry->dataset ? dataset_count(entry->dataset)
				      : atomic_load(&entry->progress.found));
	}
}

static unsigned hidden(unsigned count)
{
	return count > METRICS_MOST ? count - METRICS_MOST : 0;
}

static void write_hidden(struct exposition *exposition, const struct core *core)
{
	unsigned readers = 0, streams = 0, datasets = 0;
	list_for_each(reader, after_reader, &core->readers, struct reader, in_core)
		readers++;
	list_for_each(stream, after_stream, &core->streams, struct stream, link)
		streams++;
	list_for_each(entry, after_entry, &core->datasets, struct dataset_entry, link)
		datasets++;
	family(exposition, FAMILY_GAUGE, "stoker_not_shown",
	       "readers, streams, datasets beyond the bound, which have no series of their own");
	sample(exposition, "{what=\"readers\"}", hidden(readers));
	sample(exposition, "{what=\"streams\"}", hidden(streams));
	sample(exposition, "{what=\"datasets\"}", hidden(datasets));
}

void metrics_write(struct writer *writer, struct core *core, uint64_t started_ns, bool open)
{
	struct exposition exposition = {.writer = writer, .open = open};
	core_gather(core);
	write_process(&exposition, started_ns);
	write_counters(&exposition, core);
	write_histograms(&exposition, core);
	write_budgets(&exposition, core);
	write_reader_numbers(&exposition, core);
	write_reader_waits(&exposition, core);
	write_streams(&exposition, core);
	write_datasets(&exposition, core);
	write_hidden(&exposition, core);
	if (open)
		writer_add(writer, "# EOF\n");
}
