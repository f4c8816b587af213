// SPDX-License-Identifier: MIT
#include "loop/watch/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"
#include "loop/meter/histogram.h"
#include "loop/policy/reader_status.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "loop/state/user.h"
#include "proto/counter.h"

#define LABEL_SIZE 128
#define BILLION 1000000000u

/* A family is all samples of one name; `name` is without the _total of a counter. */
struct exposition {
	struct writer *writer;
	bool open;  /* OpenMetrics */
	bool names; /* of jobs are shown */
	struct utsname node;
	struct writer labels; /* of the reader that is being written */
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

static const char *const cause_names[WAIT_CAUSES] = {"trainer", "storage", "decode", "slot"};

/* Labels of a reader, and the cause if there is one. They stay until the next ones. A job has its
 * name for who may see it, else, or if it has none, a number. `job` would be Prometheus' own. */
static const char *reader_labels(struct exposition *exposition, const struct reader *reader,
				 const char *cause)
{
	struct writer *labels = &exposition->labels;
	labels->size = 0;
	writer_add(labels, "{reader=\"%" PRIu64 "\",stream=\"%" PRIu64 "\",job_name=", reader->id,
		   reader->stream->id);
	if (exposition->names && reader->job[0])
		writer_add_label(labels, reader->job);
	else
		writer_add(labels, "\"job %" PRIu64 "\"", reader->job_number);
	writer_add(labels, ",rank=\"%" PRIu64 "\",world=\"%" PRIu64 "\",uid=\"%u\",node=",
		   reader->share.rank, reader->share.world, (unsigned)reader->uid);
	writer_add_label(labels, exposition->node.nodename);
	writer_add(labels, cause ? ",cause=\"%s\"}" : "}", cause);
	return labels->failed ? "" : labels->data;
}

/* Labels of the sum of those of a user's readers that have no series of their own. */
static const char *others_labels(struct exposition *exposition, const struct user *user,
				 const char *cause)
{
	struct writer *labels = &exposition->labels;
	labels->size = 0;
	writer_add(labels, "{reader=\"others\",job_name=\"all others\",uid=\"%u\",node=",
		   (unsigned)user->uid);
	writer_add_label(labels, exposition->node.nodename);
	writer_add(labels, cause ? ",cause=\"%s\"}" : "}", cause);
	return labels->failed ? "" : labels->data;
}

/* Steps of the stream before the reader's next batch, as if each epoch had been entered at 0: the
 * same for all ranks that are at one step. */
static uint64_t reader_steps(const struct reader *reader)
{
	const struct share *share = &reader->share;
	uint64_t position = share_span(share, &reader->next).position;
	uint64_t ahead = share->rank * share->batch_size;
	position -= position < ahead ? position : ahead;
	return (reader->next.epoch * share->n + position) / share_global_batch(share);
}

/* Sum of a user's readers without series of their own, present and gone. False: it has had none. */
static bool others_of(const struct user *user, const struct core *core, uint64_t *delivered_out,
		      uint64_t wait_ns_out[WAIT_CAUSES])
{
	*delivered_out = user->gone.delivered;
	memcpy(wait_ns_out, user->gone.wait_ns, sizeof(user->gone.wait_ns));
	bool any = user->gone.delivered > 0;
	if (user->attached == user->series) /* nearly always: all have their own */
		return any;
	list_for_each(reader, next, &core->readers, struct reader, in_core) {
		const struct wait_time wait = reader_wait_now(reader);
		if (reader->has_series || reader->uid != user->uid)
			continue;
		any = true;
		*delivered_out += reader->announced;
		for (int i = 0; i < WAIT_CAUSES; i++)
			wait_ns_out[i] += wait.ns[i];
	}
	return any;
}

static void write_reader_numbers(struct exposition *exposition, const struct core *core)
{
	uint64_t delivered, wait_ns[WAIT_CAUSES];
	family(exposition, FAMILY_COUNTER, "stoker_reader_samples_delivered",
	       "samples delivered to this reader");
	list_for_each(reader, next, &core->readers, struct reader, in_core)
		if (reader->has_series)
			sample(exposition, reader_labels(exposition, reader, NULL),
			       reader->announced);
	list_for_each(user, next_user, &core->users->all, struct user, link)
		if (others_of(user, core, &delivered, wait_ns))
			sample(exposition, others_labels(exposition, user, NULL), delivered);
	family(exposition, FAMILY_GAUGE, "stoker_reader_leased_batches",
	       "batches that this reader holds");
	list_for_each(reader, after, &core->readers, struct reader, in_core)
		if (reader->has_series)
			sample(exposition, reader_labels(exposition, reader, NULL), reader->leased);
	family(exposition, FAMILY_COUNTER, "stoker_reader_steps",
	       "steps of the stream, all epochs counted, before this reader's next batch");
	list_for_each(reader, then, &core->readers, struct reader, in_core)
		if (reader->has_series)
			sample(exposition, reader_labels(exposition, reader, NULL),
			       reader_steps(reader));
	family(exposition, FAMILY_COUNTER, "stoker_reader_batches_awaited",
	       "batches that the trainer waited for: it held none, or gave one back at once");
	list_for_each(reader, last, &core->readers, struct reader, in_core)
		if (reader->has_series)
			sample(exposition, reader_labels(exposition, reader, NULL),
			       reader->awaited_before + reader->awaited);
}

static void write_reader_waits(struct exposition *exposition, const struct core *core)
{
	uint64_t delivered, wait_ns[WAIT_CAUSES];
	family(exposition, FAMILY_COUNTER, "stoker_reader_wait_seconds",
	       "time of this reader by what it waited for; trainer: it held all its batches");
	list_for_each(reader, next, &core->readers, struct reader, in_core) {
		const struct wait_time wait = reader_wait_now(reader);
		for (int i = 0; reader->has_series && i < WAIT_CAUSES; i++)
			sample_ns(exposition, reader_labels(exposition, reader, cause_names[i]),
				  wait.ns[i]);
	}
	list_for_each(user, next_user, &core->users->all, struct user, link) {
		bool any = others_of(user, core, &delivered, wait_ns);
		for (int i = 0; any && i < WAIT_CAUSES; i++)
			sample_ns(exposition, others_labels(exposition, user, cause_names[i]),
				  wait_ns[i]);
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
	sample(exposition, "{what=\"readers\"}", readers - core->series);
	sample(exposition, "{what=\"streams\"}", hidden(streams));
	sample(exposition, "{what=\"datasets\"}", hidden(datasets));
}

void metrics_write(struct writer *writer, struct core *core, uint64_t started_ns, bool names,
		   bool open)
{
	struct exposition exposition = {.writer = writer, .open = open, .names = names};
	if (uname(&exposition.node) < 0)
		exposition.node.nodename[0] = '\0';
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
	writer->failed |= exposition.labels.failed;
	writer_deinit(&exposition.labels);
	if (open)
		writer_add(writer, "# EOF\n");
}
