// SPDX-License-Identifier: MIT
#include "loop/watch/live.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/log.h"
#include "loop/policy/reader_status.h"
#include "loop/policy/rows.h"
#include "loop/state/bad_samples.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/producer.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "loop/watch/watch.h"
#include "proto/advice/limit.h"
#include "proto/advice/trouble.h"
#include "proto/counter.h"

#define LIVE_MOST 200	  /* readers, streams, datasets, producers */
#define LIVE_BAD_MOST 100 /* the last bad samples */

static const char *comma(unsigned count)
{
	return count ? "," : "";
}

static void write_text(struct writer *writer, const char *key, const char *text)
{
	writer_add(writer, ",\"%s\":", key);
	writer_add_json(writer, text);
}

static void write_counters(struct writer *writer, const struct core *core)
{
	writer_add(writer, ",\"counters\":{");
	for (int i = 0; i < COUNTER_COUNT; i++)
		writer_add(writer, "%s\"%s\":%" PRIu64, comma((unsigned)i), counter_facts[i].name,
			   core->counters[i]);
	writer_add(writer, "}");
}

static void write_budgets(struct writer *writer, struct core *core)
{
	const struct config *config = core->config;
	writer_add(writer,
		   ",\"budgets\":{\"rings\":[%" PRIu64 ",%" PRIu64 "],\"indexes\":[%" PRIu64
		   ",%" PRIu64 "],\"arrays\":[%" PRIu64 ",%" PRIu64 "],\"pictures\":[%" PRIu64
		   ",%" PRIu64 "]}",
		   core->counters[COUNTER_RING_BYTES], config->ring_memory,
		   core->counters[COUNTER_INDEX_BYTES], config->index_memory,
		   (uint64_t)atomic_load(&core->dataset_account.bytes), config->dataset_memory,
		   core->counters[COUNTER_CACHE_BYTES], config->cache_memory);
}

/* Oldest first. */
static void write_history(struct writer *writer, const struct watch *watch)
{
	unsigned kept = watch->seconds < WATCH_SECONDS ? watch->seconds : WATCH_SECONDS;
	writer_add(writer, ",\"history\":[");
	for (unsigned i = 0; i < kept; i++) {
		const uint32_t *grown =
			watch->history[(watch->seconds - kept + i) % WATCH_SECONDS].grown;
		writer_add(writer, "%s[%u,%u,%u,%u,%u]", comma(i), grown[0], grown[1], grown[2],
			   grown[3], grown[4]);
	}
	writer_add(writer, "]");
}

/* An object with columns of a row; `keys` are words of row_next(). */
static void write_row(struct writer *writer, enum row_kind kind, const void *row, const char *keys)
{
	const struct row_column *column;
	const char *between = "{";
	while ((column = row_next(kind, &keys))) {
		const void *at = (const char *)row + column->offset;
		writer_add(writer, "%s\"%s\":", between, column->key);
		between = ",";
		if (column->type == ROW_IS_text)
			writer_add_json(writer, *(const row_text *)at);
		else if (column->type == ROW_IS_number)
			writer_add(writer, "%.3f", *(const row_number *)at);
		else if (*(const row_uint *)at == ROW_NONE)
			writer_add(writer, "null");
		else
			writer_add(writer, "%" PRIu64, *(const row_uint *)at);
	}
	writer_add(writer, "}");
}

/* Keys that everybody may see; names come behind them. */
#define WAITS_KEYS "limited_by share_trainer share_storage share_decode share_slot"
#define READER_KEYS                                                                                \
	"reader stream rank world epoch state waits_for leased inflight "                          \
	"images_per_second waited " WAITS_KEYS
#define STREAM_KEYS "stream dataset readers ring_bytes images_per_second " WAITS_KEYS
#define DATASET_KEYS "dataset state samples"
#define BAD_KEYS "dataset sample count name"
#define PRODUCER_KEYS "producer place state sample since_s lent made failed sample_ms cpu_s memory"

static void write_readers(struct writer *writer, const struct core *core, bool names)
{
	unsigned count = 0;
	writer_add(writer, ",\"readers\":[");
	list_for_each(reader, next, &core->readers, struct reader, in_core) {
		if (count >= LIVE_MOST)
			break;
		const struct row_reader row = reader_row(reader);
		writer_add(writer, "%s", comma(count++));
		write_row(writer, ROW_READER, &row, names ? READER_KEYS " job" : READER_KEYS);
	}
	writer_add(writer, "]");
}

/* By reader, what was delivered to it in each second of its last minute, oldest first. */
static void write_minutes(struct writer *writer, const struct core *core)
{
	unsigned count = 0;
	writer_add(writer, ",\"minutes\":{");
	list_for_each(reader, next, &core->readers, struct reader, in_core) {
		if (count >= LIVE_MOST)
			break;
		writer_add(writer, "%s\"%" PRIu64 "\":[", comma(count++), reader->id);
		for (unsigned i = 0; i < minute_kept(&reader->minute); i++)
			writer_add(writer, "%s%u", comma(i),
				   minute_second(&reader->minute, i)->delivered);
		writer_add(writer, "]");
	}
	writer_add(writer, "}");
}

/* Seconds ago and what, the newest first. They may name files and jobs. */
static void write_warnings(struct writer *writer, bool names)
{
	const struct log_past *past;
	writer_add(writer, ",\"warnings\":[");
	for (unsigned i = 0; names && i < LOG_PAST && (past = log_past(i))->at_ns; i++) {
		writer_add(writer, "%s[%.0f,", comma(i), (double)(clock_ns() - past->at_ns) * 1e-9);
		writer_add_json(writer, past->text);
		writer_add(writer, "]");
	}
	writer_add(writer, "]");
}

static void write_streams(struct writer *writer, const struct core *core, bool names)
{
	unsigned count = 0;
	writer_add(writer, ",\"streams\":[");
	list_for_each(stream, next, &core->streams, struct stream, link) {
		if (count >= LIVE_MOST)
			break;
		const struct row_stream row = stream_row(stream, NULL);
		writer_add(writer, "%s", comma(count++));
		write_row(writer, ROW_STREAM, &row, names ? STREAM_KEYS " pipeline" : STREAM_KEYS);
	}
	writer_add(writer, "]");
}

static void write_datasets(struct writer *writer, const struct core *core, bool names)
{
	unsigned count = 0;
	writer_add(writer, ",\"datasets\":[");
	list_for_each(entry, next, &core->datasets, struct dataset_entry, link) {
		if (count >= LIVE_MOST)
			break;
		struct row_dataset row = dataset_row(entry);
		if (row.samples == ROW_NONE)
			row.samples = row.found;
		writer_add(writer, "%s", comma(count++));
		write_row(writer, ROW_DATASET, &row, names ? DATASET_KEYS " path" : DATASET_KEYS);
	}
	writer_add(writer, "]");
}

static void write_producers(struct writer *writer, const struct core *core, bool names)
{
	unsigned count = 0;
	writer_add(writer, ",\"producers\":[");
	list_for_each(code, next, &core->codes, struct code, link) {
		list_for_each(producer, after, &code->producers, struct producer, in_code) {
			if (count >= LIVE_MOST)
				break;
			const struct row_producer row = producer_row(producer);
			writer_add(writer, "%s", comma(count++));
			write_row(writer, ROW_PRODUCER, &row,
				  names ? PRODUCER_KEYS " code pid" : PRODUCER_KEYS);
		}
	}
	writer_add(writer, "]");
}

/* The last ones: what was found first is the oldest. The words may have paths in them. */
static void write_bad(struct writer *writer, const struct core *core, bool names)
{
	const struct bad_samples *bad_samples = core->bad_samples;
	unsigned at = 0, count = 0;
	writer_add(writer, ",\"bad\":[");
	list_for_each(bad, next, &bad_samples->list, struct bad_sample, link) {
		if (at++ + LIVE_BAD_MOST < bad_samples->count)
			continue;
		const struct row_bad row = bad_row(bad);
		writer_add(writer, "%s", comma(count++));
		write_row(writer, ROW_BAD, &row, names ? BAD_KEYS " path text" : BAD_KEYS);
	}
	writer_add(writer, "]");
}

/* -- advice, as stokerctl doctor gives it ---------------------------------------------------- */

#define LOAD_SECONDS 5u

static double part_of(double part, double whole)
{
	double share = whole > 0 ? part / whole : 0;
	return share < 1 ? share : 1;
}

static struct load load_of(const struct watch *watch)
{
	const struct core *core = watch->core;
	unsigned seconds = watch->seconds < LOAD_SECONDS ? watch->seconds : LOAD_SECONDS;
	double work_ms = 0, transform_ms = 0, fetch_ms = 0;
	for (unsigned i = 1; i <= seconds; i++) {
		const uint32_t *grown = watch->history[(watch->seconds - i) % WATCH_SECONDS].grown;
		work_ms += grown[2];
		transform_ms += grown[3];
		fetch_ms += grown[4];
	}
	struct load load = {
		.workers = core_workers(core),
		.fetchers = core_fetchers(core),
		.processors = (double)core->counters[COUNTER_PROCESSORS],
		.workers_auto = core->config->workers == CONFIG_AUTO,
		.fetchers_auto = core->config->fetchers == CONFIG_AUTO,
		.index_full = core->counters[COUNTER_INDEX_FULL] > 0,
		.transform = part_of(transform_ms, work_ms),
	};
	load.workers_busy = part_of(work_ms, load.workers * 1000 * seconds);
	load.fetchers_busy = part_of(fetch_ms, load.fetchers * 1000 * seconds);
	return load;
}

static void count_limits(const struct core *core, unsigned counts[LIMIT_COUNT])
{
	for (unsigned i = 0; i < LIMIT_COUNT; i++)
		counts[i] = 0;
	list_for_each(reader, next, &core->readers, struct reader, in_core) {
		const struct wait_time wait = reader_wait_now(reader);
		double recent[WAIT_CAUSES] = {0};
		wait_time_add_recent(&wait, recent);
		enum limit limit =
			limit_of_name(wait_time_shares(recent, stream_storage(reader->stream)));
		if (reader_lacks_producer(reader))
			counts[LIMIT_NO_PRODUCER]++;
		else if (limit < LIMIT_COUNT && reader_state(reader) != READER_STALLED)
			counts[limit]++;
	}
}

static void write_limits(struct writer *writer, const struct watch *watch)
{
	unsigned counts[LIMIT_COUNT], written = 0;
	char advice[512];
	const struct load load = load_of(watch);
	count_limits(watch->core, counts);
	writer_add(writer, ",\"limits\":[");
	for (unsigned i = 0; i < LIMIT_COUNT; i++) {
		if (!counts[i])
			continue;
		limit_advice((enum limit)i, &load, advice, sizeof(advice));
		writer_add(writer, "%s{\"limit\":\"%s\",\"readers\":%u", comma(written++),
			   limit_name((enum limit)i), counts[i]);
		write_text(writer, "words", limit_words((enum limit)i));
		write_text(writer, "advice", i == LIMIT_TRAINER ? "" : advice);
		writer_add(writer, "}");
	}
	writer_add(writer, "]");
}

static void write_troubles(struct writer *writer, const struct core *core)
{
	unsigned written = 0;
	char text[160];
	writer_add(writer, ",\"troubles\":[");
	for (unsigned i = 0; i < trouble_count; i++) {
		const struct trouble *trouble = &troubles[i];
		uint64_t count = core->counters[trouble->counter];
		if (!count ||
		    (trouble->beside != COUNTER_COUNT && !core->counters[trouble->beside]))
			continue;
		trouble_write(trouble, count, text, sizeof(text));
		writer_add(writer, "%s{\"check\":\"%s\",\"fails\":%s", comma(written++),
			   trouble->check, trouble->fails ? "true" : "false");
		write_text(writer, "text", text);
		write_text(writer, "advice", trouble->advice);
		writer_add(writer, "}");
	}
	writer_add(writer, "]");
}

void live_write(struct writer *writer, struct watch *watch, bool names)
{
	struct core *core = watch->core;
	core_gather(core);
	writer_add(writer,
		   "{\"version\":\"%s\",\"state\":\"%s\",\"uptime\":%.3f,\"names\":%s,"
		   "\"started\":%" PRIu64,
		   STOKER_VERSION, core->stopping ? "stopping" : "running",
		   (double)(clock_ns() - watch->started_ns) * 1e-9, names ? "true" : "false",
		   watch->started_ns);
	write_counters(writer, core);
	write_budgets(writer, core);
	write_history(writer, watch);
	write_limits(writer, watch);
	write_troubles(writer, core);
	write_warnings(writer, names);
	write_readers(writer, core, names);
	write_minutes(writer, core);
	write_streams(writer, core, names);
	write_datasets(writer, core, names);
	write_producers(writer, core, names);
	write_bad(writer, core, names);
	writer_add(writer, "}\n");
}
