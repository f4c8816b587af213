// SPDX-License-Identifier: MIT
#include "loop/protocol/listing.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "loop/policy/reader_status.h"
#include "loop/protocol/reply.h"
#include "loop/protocol/session_state.h"
#include "loop/state/bad_samples.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/pictures.h"
#include "loop/state/reader.h"
#include "loop/state/stream.h"
#include "loop/watch/metrics.h"
#include "loop/watch/watch.h"
#include "proto/pack.h"
#include "stage/stage.h"

#define PARTS_BYTES_MAX 8192
#define PAGE_BYTES (PROTO_FRAME_MAX / 2) /* a page ends with the item that passes this */

struct page {
	struct session *session;
	const struct message_list *list;
	struct packer *items; /* the protocol's, cleared */
	uint32_t count;
	uint64_t last; /* id of the last item */
	bool more;
};

static struct page page_begin(struct session *session, const struct message_list *list)
{
	struct page page = {session, list, session->protocol->items, 0, list->after, false};
	packer_clear(page.items);
	return page;
}

/* May the item with this id be added? Items come with rising ids. */
static bool page_takes(struct page *page, uint64_t id)
{
	struct text so_far;
	if (id <= page->list->after || page->more)
		return false;
	if (packer_bytes(page->items, &so_far) < 0 || so_far.size > PAGE_BYTES ||
	    page->count >= PROTO_NODES_MAX / 64) {
		page->more = true;
		return false;
	}
	page->count++;
	page->last = id;
	return true;
}

static void page_send(struct page *page)
{
	struct packer *packer = page->session->protocol->packer;
	struct message message = message_init(MESSAGE_LISTING);
	struct text items;
	packer_clear(packer);
	pack_list(packer, page->count);
	if (packer_bytes(page->items, &items) < 0) {
		reply_no_memory(page->session, page->list->seq);
		return;
	}
	pack_packed(packer, items);
	if (packer_bytes(packer, &message.listing.items.packed) < 0) {
		reply_no_memory(page->session, page->list->seq);
		return;
	}
	message.listing.seq = page->list->seq;
	message.listing.next = page->more ? page->last : 0;
	connection_send(&page->session->connection, &message);
}

static void pack_waits(struct packer *packer, const struct stream *stream, double ns[WAIT_CAUSES])
{
	const char *limited_by = wait_time_shares(ns, dataset_is_far(stream->entry->dataset));
	pack_key_float(packer, "share_trainer", ns[WAIT_TRAINER]);
	pack_key_float(packer, "share_storage", ns[WAIT_STORAGE]);
	pack_key_float(packer, "share_decode", ns[WAIT_DECODE]);
	pack_key_float(packer, "share_slot", ns[WAIT_SLOT]);
	pack_key_string(packer, "limited_by", limited_by);
}

/* Of `parts` what it takes to ask for them again, if it is short: an item has to fit into a frame.
 */
static bool parts_are_told(const struct dataset_spec *spec)
{
	size_t size = 0;
	for (uint32_t i = 0; i < spec->part_count; i++) {
		const struct dataset_spec *part = &spec->parts[i];
		const char *const texts[] = {part->path,
					     part->root,
					     part->format,
					     part->images,
					     part->labels,
					     part->split,
					     part->path_column,
					     part->label_column,
					     part->image,
					     part->label,
					     part->classes,
					     part->components,
					     part->missing_component};
		for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
			size += texts[k] ? strlen(texts[k]) : 0;
	}
	return size > 0 && size <= PARTS_BYTES_MAX;
}

/* The keys that say which dataset it is. */
static void pack_spec(struct packer *packer, const struct dataset_spec *spec)
{
	const struct {
		const char *key, *value;
	} texts[] = {{"path", spec->path},
		     {"kind", spec->kind},
		     {"root", spec->root},
		     {"format", spec->format},
		     {"images", spec->images},
		     {"labels", spec->labels},
		     {"split", spec->split},
		     {"path_column", spec->path_column},
		     {"label_column", spec->label_column},
		     {"image", spec->image},
		     {"label", spec->label},
		     {"classes", spec->classes},
		     {"components", spec->components},
		     {"missing_component", spec->missing_component}};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].value)
			pack_key_string(packer, texts[i].key, texts[i].value);
	if (!parts_are_told(spec))
		return;
	pack_string(packer, "parts");
	pack_list(packer, spec->part_count);
	for (uint32_t i = 0; i < spec->part_count; i++) {
		size_t map = pack_map_begin(packer);
		pack_spec(packer, &spec->parts[i]);
		pack_map_end(packer, map);
	}
}

/* What the rings and readers of a stream add up to. */
struct stream_sum {
	uint64_t rings, bytes, readers;
	double waits[WAIT_CAUSES];
};

static struct stream_sum sum_of(const struct stream *stream)
{
	struct stream_sum sum = {0};
	list_for_each(ring, next, &stream->rings, struct ring, link) {
		sum.rings++;
		sum.bytes += ring->segment.backed;
		list_for_each(reader, after, &ring->readers, struct reader, in_ring) {
			struct wait_time wait = reader_wait_now(reader);
			sum.readers++;
			wait_time_add_recent(&wait, sum.waits);
		}
	}
	return sum;
}

/* Nothing, unless anything was read that cache-dir could have. */
static void pack_hit_rate(struct packer *packer, const struct stream *stream)
{
	uint64_t hits = stream->stage_hits, reads = hits + stream->stage_misses;
	if (!reads)
		return;
	pack_key_uint(packer, "stage_hits", hits);
	pack_key_uint(packer, "stage_misses", stream->stage_misses);
	pack_key_float(packer, "stage_hit_rate", (double)hits / (double)reads);
}

static void pack_stream(struct packer *packer, const struct stream *stream)
{
	struct stream_sum sum = sum_of(stream);
	const struct dataset_spec *spec = &stream->entry->spec;
	const struct stream_order *order = &stream->order;
	struct digest sampling;
	bool sampled = stream_order_hash(order, &sampling);
	size_t map = pack_map_begin(packer);
	pack_key_uint(packer, "stream", stream->id);
	pack_key_uint(packer, "dataset", stream->entry->id);
	pack_spec(packer, spec);
	pack_key_string(packer, "bad_samples", stream->order.substitute ? "substitute" : "error");
	pack_key_boolean(packer, "exif_orientation", stream->order.exif);
	reply_pack_digest(packer, "fingerprint", dataset_fingerprint(stream->entry->dataset));
	pack_key_string(packer, "pipeline", pipeline_text(stream->pipeline));
	reply_pack_digest(packer, "pipeline_hash", pipeline_hash(stream->pipeline));
	pack_key_string(packer, "resize",
			pipeline_is_pillow_13(stream->pipeline) ? "pillow-13" : "pillow-12");
	pack_key_uint(packer, "samples", stream_positions(order));
	pack_key_uint(packer, "subset_count", order->count);
	pack_key_string(packer, "sampler", order->sampler ? sampler_text(order->sampler) : "");
	pack_key_string(packer, "sampler_name", order->sampler ? sampler_name(order->sampler) : "");
	pack_key_uint(packer, "echo", order->echo);
	pack_key_uint(packer, "echo_window", order->echo_window);
	/* As asked for: what the transforms make is theirs. */
	pack_key_uint(packer, "views", order->views / pipeline_views(stream->pipeline));
	if (sampled)
		reply_pack_digest(packer, "sampling_hash", sampling);
	pack_key_uint(packer, "subset_start", stream->order.first);
	pack_key_boolean(packer, "shuffle", stream->order.shuffle);
	pack_key_string(packer, "order", order->window ? "shards" : "global");
	if (order->window)
		pack_key_uint(packer, "window", order->window);
	pack_key_uint(packer, "order_seed", stream->order.order_seed);
	pack_key_uint(packer, "augment_seed", stream->order.augment_seed);
	pack_key_uint(packer, "readers", sum.readers);
	pack_key_uint(packer, "rings", sum.rings);
	pack_key_uint(packer, "ring_bytes", sum.bytes);
	pack_key_uint(packer, "decoded", stream->decoded);
	pack_key_uint(packer, "delivered", stream->delivered);
	pack_key_float(packer, "images_per_second", stream->rate);
	pack_hit_rate(packer, stream);
	pack_waits(packer, stream, sum.waits);
	pack_map_end(packer, map);
}

void listing_streams(struct session *session, const struct message_list *list)
{
	struct page page = page_begin(session, list);
	list_for_each(stream, next, &session->protocol->core->streams, struct stream, link)
		if (page_takes(&page, stream->id))
			pack_stream(page.items, stream);
	page_send(&page);
}

static void pack_reader(struct packer *packer, const struct session *session, uint64_t now_ns)
{
	const struct reader *reader = session->reader;
	const struct wait_time wait = reader_wait_now(reader);
	double recent[WAIT_CAUSES] = {0};
	enum reader_state state = reader_state(reader);
	const struct reader *other = state == READER_WAITING ? reader_waits_for(reader) : NULL;
	wait_time_add_recent(&wait, recent);
	size_t map = pack_map_begin(packer);
	pack_key_uint(packer, "reader", reader->id);
	pack_key_uint(packer, "pid", (uint64_t)session->connection.pid);
	pack_key_uint(packer, "uid", (uint64_t)session->connection.uid);
	pack_key_string(packer, "client", session->client);
	pack_key_string(packer, "job", reader->job);
	pack_key_uint(packer, "rank", reader->shard.rank);
	pack_key_uint(packer, "world", reader->shard.world);
	pack_key_uint(packer, "stream", reader->stream->id);
	pack_key_uint(packer, "ring", reader->ring ? reader->ring->id : 0);
	pack_key_uint(packer, "batch_size", reader->shard.batch_size);
	pack_key_uint(packer, "epoch", reader->next.epoch);
	pack_key_uint(packer, "position", shard_span(&reader->shard, &reader->next).position);
	pack_key_uint(packer, "inflight", reader->inflight);
	pack_key_uint(packer, "leased", reader->leased);
	pack_key_string(packer, "state", reader_state_name(state));
	pack_key_uint(packer, "waits_for", other ? other->id : 0);
	pack_key_uint(packer, "delivered", reader->announced);
	pack_key_float(packer, "images_per_second", reader->rate);
	pack_key_float(packer, "age_s", (double)(now_ns - reader->attached_ns) * 1e-9);
	pack_key_uint(packer, "priority", reader->priority);
	pack_key_float(packer, "trainer_s", (double)wait.ns[WAIT_TRAINER] * 1e-9);
	pack_key_float(packer, "storage_s", (double)wait.ns[WAIT_STORAGE] * 1e-9);
	pack_key_float(packer, "decode_s", (double)wait.ns[WAIT_DECODE] * 1e-9);
	pack_key_float(packer, "slot_s", (double)wait.ns[WAIT_SLOT] * 1e-9);
	pack_waits(packer, reader->stream, recent);
	pack_map_end(packer, map);
}

/* By session, whose ids rise along the list; a reader's may not: a client can attach again. */
void listing_readers(struct session *session, const struct message_list *list)
{
	struct page page = page_begin(session, list);
	uint64_t now_ns = clock_ns();
	list_for_each(other, next, &session->protocol->sessions, struct session, link)
		if (other->reader && page_takes(&page, other->id))
			pack_reader(page.items, other, now_ns);
	page_send(&page);
}

void listing_own(struct session *session, const struct message_list *list)
{
	struct page page = page_begin(session, list);
	if (page_takes(&page, session->id))
		pack_reader(page.items, session, clock_ns());
	page_send(&page);
}

static void pack_dataset(struct packer *packer, struct dataset_entry *entry)
{
	const struct dataset *dataset = entry->dataset;
	size_t map = pack_map_begin(packer);
	pack_key_uint(packer, "dataset", entry->id);
	pack_key_string(packer, "path", entry->spec.path);
	pack_key_string(packer, "state", dataset ? "open" : "indexing");
	pack_key_uint(packer, "found", atomic_load(&entry->progress.found));
	if (dataset) {
		pack_key_string(packer, "kind", dataset_kind_name(dataset));
		pack_key_uint(packer, "samples", dataset_count(dataset));
		pack_key_uint(packer, "classes", dataset_class_count(dataset));
		reply_pack_digest(packer, "fingerprint", dataset_fingerprint(dataset));
		pack_key_uint(packer, "index_bytes", dataset_index_bytes(dataset));
		pack_key_string(packer, "note", entry->note.text);
	}
	pack_map_end(packer, map);
}

void listing_datasets(struct session *session, const struct message_list *list)
{
	struct page page = page_begin(session, list);
	list_for_each(entry, next, &session->protocol->core->datasets, struct dataset_entry, link)
		if (page_takes(&page, entry->id))
			pack_dataset(page.items, entry);
	page_send(&page);
}

/* Whether pictures are also read from the disk. */
static void pack_disk(struct packer *packer, const struct picture_store *disk)
{
	char text[80] = "off";
	double speed = disk ? (double)atomic_load(&disk->speed.found) * 1e-9 : 0;
	if (disk && read_speed_is_slow(&disk->speed))
		snprintf(text, sizeof(text), "%.2f GB/s: only files without an index", speed);
	else if (disk && picture_store_is_on(disk))
		snprintf(text, sizeof(text), speed > 0 ? "%.2f GB/s" : "on", speed);
	pack_key_string(packer, "disk", text);
}

static void pack_kept(struct packer *packer, const struct dataset_entry *entry)
{
	struct picture_totals totals = picture_set_totals(entry->pictures);
	struct stage_set_totals objects = {0};
	if (entry->staged)
		objects = stage_set_totals(entry->staged);
	size_t map = pack_map_begin(packer);
	pack_key_uint(packer, "dataset", entry->id);
	pack_key_string(packer, "path", entry->spec.path);
	pack_key_uint(packer, "samples", dataset_count(entry->dataset));
	pack_key_uint(packer, "pictures", totals.pictures);
	pack_key_uint(packer, "files", totals.files);
	pack_key_uint(packer, "bytes", totals.bytes);
	pack_key_uint(packer, "hits", totals.hits);
	pack_disk(packer, entry->core->pictures->disk);
	pack_key_uint(packer, "objects", objects.items);
	pack_key_uint(packer, "object_bytes", objects.bytes);
	pack_key_uint(packer, "object_pinned", objects.pinned);
	pack_key_uint(packer, "object_hits", objects.hits);
	pack_map_end(packer, map);
}

void listing_cache(struct session *session, const struct message_list *list)
{
	struct page page = page_begin(session, list);
	list_for_each(entry, next, &session->protocol->core->datasets, struct dataset_entry, link)
		if (entry->pictures && page_takes(&page, entry->id))
			pack_kept(page.items, entry);
	page_send(&page);
}

void listing_memory(struct session *session, const struct message_list *list)
{
	struct core *core = session->protocol->core;
	const struct config *config = core->config;
	struct page page = page_begin(session, list);
	core_gather(core);
	const struct {
		const char *what, *setting;
		uint64_t bytes, limit;
	} rows[] = {
		{"rings", "ring-memory", core->ring_bytes, config->ring_memory},
		{"arrays", "dataset-memory", atomic_load(&core->dataset_account.bytes),
		 config->dataset_memory},
		{"seek indexes", "index-memory", core->counters[COUNTER_INDEX_BYTES],
		 config->index_memory},
		{"pictures", "cache-memory", core->counters[COUNTER_CACHE_BYTES],
		 core->counters[COUNTER_CACHE_LIMIT]},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!page_takes(&page, i + 1))
			continue;
		size_t map = pack_map_begin(page.items);
		pack_key_string(page.items, "what", rows[i].what);
		pack_key_uint(page.items, "bytes", rows[i].bytes);
		pack_key_uint(page.items, "limit", rows[i].limit);
		pack_key_string(page.items, "setting", rows[i].setting);
		pack_map_end(page.items, map);
	}
	page_send(&page);
}

static void pack_bad(struct packer *packer, const struct bad_sample *bad)
{
	size_t map = pack_map_begin(packer);
	pack_key_uint(packer, "dataset", bad->dataset);
	pack_key_string(packer, "root", bad->root);
	pack_key_uint(packer, "sample", bad->sample);
	pack_key_string(packer, "path", bad->path);
	pack_key_uint(packer, "code", bad->code);
	pack_key_string(packer, "name", error_name(bad->code));
	pack_key_string(packer, "text", bad->fault.text);
	pack_key_uint(packer, "count", bad->count);
	pack_map_end(packer, map);
}

void listing_bad(struct session *session, const struct message_list *list)
{
	struct page page = page_begin(session, list);
	list_for_each(bad, next, &session->protocol->core->bad_samples->list, struct bad_sample,
		      link)
		if (page_takes(&page, bad->id))
			pack_bad(page.items, bad);
	page_send(&page);
}

/* One text in parts, as of when its first part was asked for. */
void listing_metrics(struct session *session, const struct message_list *list)
{
	const struct protocol *protocol = session->protocol;
	struct page page = page_begin(session, list);
	struct writer *text = &session->metrics;
	if (list->after == 0) {
		writer_deinit(text);
		metrics_write(text, protocol->core, protocol->watch->started_ns, false);
	}
	if (text->failed) {
		reply_no_memory(session, list->seq);
		return;
	}
	if (list->after < text->size) {
		size_t size = text->size - list->after;
		size = size < PAGE_BYTES ? size : PAGE_BYTES;
		pack_text(page.items, (struct text){text->data + list->after, size});
		page.count = 1;
		page.last = list->after + size;
		page.more = page.last < text->size;
	}
	if (!page.more)
		writer_deinit(text);
	page_send(&page);
}

void listing_page(struct session *session, const struct message_list *list)
{
	const struct protocol *protocol = session->protocol;
	struct page page = page_begin(session, list);
	char token[WATCH_TOKEN_TEXT];
	if (watch_token_new(protocol->watch, token) < 0) {
		reply_error(session, ERROR_INTERNAL, list->seq, "there are no random numbers");
		return;
	}
	if (page_takes(&page, session->id)) {
		size_t map = pack_map_begin(page.items);
		pack_key_string(page.items, "address", protocol->metrics_port);
		pack_key_string(page.items, "socket", protocol->metrics_socket);
		pack_key_string(page.items, "token", token);
		pack_map_end(page.items, map);
	}
	page_send(&page);
}

void listing_classes(struct session *session, const struct message_list *list,
		     const struct dataset *dataset)
{
	struct page page = page_begin(session, list);
	for (uint64_t label = list->after; label < dataset_class_count(dataset); label++)
		if (page_takes(&page, label + 1))
			pack_string(page.items, dataset_class_name(dataset, label));
		else
			break;
	page_send(&page);
}

void listing_paths(struct session *session, const struct message_list *list,
		   const struct dataset *dataset)
{
	struct page page = page_begin(session, list);
	char path[PATH_MAX];
	for (uint64_t sample = list->after; sample < dataset_count(dataset); sample++) {
		if (!page_takes(&page, sample + 1))
			break;
		dataset_path(dataset, sample, path, sizeof(path));
		pack_string(page.items, path);
	}
	page_send(&page);
}
