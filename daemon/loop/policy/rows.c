// SPDX-License-Identifier: MIT
#include "loop/policy/rows.h"

#include "base/clock.h"
#include "loop/os/process.h"
#include "loop/policy/reader_status.h"
#include "loop/state/bad_samples.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/producer.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "proto/message.h"
#include "work/job.h"

void row_set_digest(row_hex out, struct digest digest)
{
	digest_hex(&digest, out);
}

static double seconds(uint64_t ns)
{
	return (double)ns * 1e-9;
}

struct row_reader reader_row(const struct reader *reader)
{
	const struct wait_time wait = reader_wait_now(reader);
	enum reader_state state = reader_state(reader);
	const struct reader *other = state == READER_WAITING ? reader_waits_for(reader) : NULL;
	double share[WAIT_CAUSES] = {0};
	wait_time_add_recent(&wait, share);
	const char *limited_by = wait_time_shares(share, stream_storage(reader->stream));
	if (reader_lacks_producer(reader))
		limited_by = "no producer";
	return (struct row_reader){
		.reader = reader->id,
		.uid = reader->uid,
		.job = reader->job,
		.rank = reader->share.rank,
		.world = reader->share.world,
		.stream = reader->stream->id,
		.ring = reader->ring ? reader->ring->id : 0,
		.batch_size = reader->share.batch_size,
		.epoch = reader->next.epoch,
		.position = share_span(&reader->share, &reader->next).position,
		.inflight = reader->inflight,
		.leased = reader->leased,
		.state = reader_state_name(state),
		.waits_for = other ? other->id : 0,
		.delivered = reader->announced,
		.images_per_second = reader->rate,
		.age_s = seconds(clock_ns() - reader->attached_ns),
		.priority = reader->priority,
		.trainer_s = seconds(wait.ns[WAIT_TRAINER]),
		.storage_s = seconds(wait.ns[WAIT_STORAGE]),
		.decode_s = seconds(wait.ns[WAIT_DECODE]),
		.slot_s = seconds(wait.ns[WAIT_SLOT]),
		.share_trainer = share[WAIT_TRAINER],
		.share_storage = share[WAIT_STORAGE],
		.share_decode = share[WAIT_DECODE],
		.share_slot = share[WAIT_SLOT],
		.limited_by = limited_by,
		.waited = minute_waited(&reader->minute),
	};
}

/* Add up the rings and readers of a stream. */
static void stream_add(struct row_stream *row, const struct stream *stream)
{
	double share[WAIT_CAUSES] = {0};
	list_for_each(ring, next, &stream->rings, struct ring, link) {
		row->rings++;
		row->ring_bytes += ring->segment.backed;
		list_for_each(reader, after, &ring->readers, struct reader, in_ring) {
			struct wait_time wait = reader_wait_now(reader);
			row->readers++;
			wait_time_add_recent(&wait, share);
		}
	}
	row->limited_by = wait_time_shares(share, stream_storage(stream));
	row->share_trainer = share[WAIT_TRAINER];
	row->share_storage = share[WAIT_STORAGE];
	row->share_decode = share[WAIT_DECODE];
	row->share_slot = share[WAIT_SLOT];
}

struct row_stream stream_row(const struct stream *stream, const struct packer *spec)
{
	const struct stream_order *order = &stream->order;
	const struct pipeline *pipeline = stream->pipeline;
	uint64_t hits = stream->stage_hits, reads = hits + stream->stage_misses;
	struct digest sampling;
	struct row_stream row = {
		.stream = stream->id,
		.dataset = stream->entry->id,
		.spec = spec,
		.bad_samples = order->substitute ? "substitute" : "error",
		.exif_orientation = order->exif,
		.pipeline = pipeline_text(pipeline),
		.resize = pipeline_is_pillow_13(pipeline) ? "pillow-13" : "pillow-12",
		.samples = stream_positions(order),
		.subset_count = order->count,
		.sampler = order->sampler ? sampler_text(order->sampler) : "",
		.sampler_name = order->sampler ? sampler_name(order->sampler) : "",
		.echo = order->echo,
		.echo_window = order->echo_window,
		.views = order->views / pipeline_views(pipeline),
		.subset_start = order->first,
		.shuffle = order->shuffle,
		.order = order->window ? "shards" : "global",
		.window = order->window ? order->window : ROW_NONE,
		.order_seed = order->order_seed,
		.augment_seed = order->augment_seed,
		.decoded = stream->decoded,
		.delivered = stream->delivered,
		.images_per_second = stream->rate,
		.stage_hits = reads ? hits : ROW_NONE,
		.stage_misses = reads ? stream->stage_misses : ROW_NONE,
		.stage_hit_rate = reads ? (double)hits / (double)reads : -1,
	};
	row_set_digest(row.fingerprint, dataset_fingerprint(stream->entry->dataset));
	row_set_digest(row.pipeline_hash, pipeline_hash(pipeline));
	row_set_digest(row.digest, stream->description.digest);
	if (stream_order_hash(order, &sampling))
		row_set_digest(row.sampling_hash, sampling);
	stream_add(&row, stream);
	return row;
}

static const char *dataset_state(const struct dataset_entry *entry)
{
	return !entry->dataset ? "indexing" : entry->state == ENTRY_IDLE ? "idle" : "open";
}

struct row_dataset dataset_row(struct dataset_entry *entry)
{
	const struct dataset *dataset = entry->dataset;
	struct row_dataset row = {
		.dataset = entry->id,
		.path = entry->spec.path,
		.state = dataset_state(entry),
		.found = atomic_load(&entry->progress.found),
		.kind = dataset ? dataset_kind_name(dataset) : NULL,
		.samples = dataset ? dataset_count(dataset) : ROW_NONE,
		.classes = dataset ? dataset_class_count(dataset) : ROW_NONE,
		.index_bytes = dataset ? dataset_index_bytes(dataset) : ROW_NONE,
		.note = dataset ? entry->note.text : NULL,
	};
	if (dataset)
		row_set_digest(row.fingerprint, dataset_fingerprint(dataset));
	return row;
}

/* Name the place of the code in what is read of it now; "-": nobody reads. */
static const char *code_place(const struct code *code)
{
	list_for_each(stream, next, &code->core->streams, struct stream, link) {
		if (stream->order.map == code)
			return "map";
		if (stream->entry->code == code)
			return "source";
	}
	return "-";
}

struct row_producer producer_row(const struct producer *producer)
{
	const struct code *code = producer->code;
	const struct group *at = producer_at(producer);
	struct row_producer row = {
		.producer = producer->id,
		.pid = (uint64_t)producer->pid,
		.uid = code->uid,
		.code = producer->name,
		.identity = code->identity,
		.place = code_place(code),
		.state = at ? "working" : "idle",
		.sample = ROW_NONE,
		.made = producer->made,
		.failed = producer->failed,
		.checked = producer->checked,
		.differing = producer->differing,
		.sample_ms = (double)code->sample_ns * 1e-6,
		.cpu_s = -1,
		.memory = ROW_NONE,
	};
	struct process_usage usage;
	for (unsigned i = 0; i < GROUP_AREAS; i++)
		row.lent += producer->group[i].unanswered;
	for (unsigned i = 0; at && i < at->count && row.sample == ROW_NONE; i++)
		if (!at->answered[i])
			row.sample = ((const struct job *)at->job[i])->sample;
	if (at)
		row.since_s = seconds(clock_ns() - at->since_ns);
	if (process_usage(producer->pid, &usage)) {
		row.cpu_s = usage.cpu_s;
		row.memory = usage.bytes;
	}
	return row;
}

struct row_bad bad_row(const struct bad_sample *bad)
{
	return (struct row_bad){
		.dataset = bad->dataset,
		.root = bad->root,
		.sample = bad->sample,
		.path = bad->path,
		.code = bad->code,
		.name = error_name(bad->code),
		.text = bad->fault.text,
		.count = bad->count,
	};
}
