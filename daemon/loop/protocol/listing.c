// SPDX-License-Identifier: MIT
#include "loop/protocol/listing.h"

#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "loop/protocol/connection.h"
#include "loop/protocol/session.h"
#include "loop/server.h"
#include "loop/state/bad_samples.h"
#include "loop/state/catalog.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "proto/pack.h"

#define PARTS_BYTES_MAX 8192
#define PAGE_BYTES (PROTO_FRAME_MAX / 2) /* a page ends with the item that passes this */

struct page {
	struct session *session;
	const struct message_list *list;
	struct packer *items; /* the server's, cleared */
	uint32_t count;
	uint64_t last; /* id of the last item */
	bool more;
};

static struct page page_begin(struct session *session, const struct message_list *list)
{
	struct page page = {session, list, session->peer->server->items, 0, list->after, false};
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
	struct packer *packer = page->session->peer->server->packer;
	struct message message = message_init(MESSAGE_LISTING);
	struct text items;
	packer_clear(packer);
	pack_list(packer, page->count);
	if (packer_bytes(page->items, &items) < 0) {
		session_error(page->session, ERROR_INTERNAL, page->list->seq, "out of memory");
		return;
	}
	pack_packed(packer, items);
	if (packer_bytes(packer, &message.listing.items.packed) < 0) {
		session_error(page->session, ERROR_INTERNAL, page->list->seq, "out of memory");
		return;
	}
	message.listing.seq = page->list->seq;
	message.listing.next = page->more ? page->last : 0;
	peer_send(page->session->peer, &message);
}

static void item_uint(struct packer *packer, const char *key, uint64_t value)
{
	pack_string(packer, key);
	pack_uint(packer, value);
}

static void item_string(struct packer *packer, const char *key, const char *value)
{
	pack_string(packer, key);
	pack_string(packer, value);
}

static void item_boolean(struct packer *packer, const char *key, bool value)
{
	pack_string(packer, key);
	pack_boolean(packer, value);
}

static void item_float(struct packer *packer, const char *key, double value)
{
	pack_string(packer, key);
	pack_float(packer, value);
}

static void item_digest(struct packer *packer, const char *key, struct digest digest)
{
	char hex[33];
	digest_hex(&digest, hex);
	item_string(packer, key, hex);
}

static void pack_waits(struct packer *packer, double ns[WAIT_CAUSES])
{
	const char *limited_by = wait_shares(ns);
	item_float(packer, "share_trainer", ns[WAIT_TRAINER]);
	item_float(packer, "share_storage", ns[WAIT_STORAGE]);
	item_float(packer, "share_decode", ns[WAIT_DECODE]);
	item_float(packer, "share_slot", ns[WAIT_SLOT]);
	item_string(packer, "limited_by", limited_by);
}

/* Of `parts` what it takes to ask for them again, if it is short: an item has to fit into a frame.
 */
static bool parts_are_told(const struct dataset_spec *spec)
{
	size_t size = 0;
	for (uint32_t i = 0; i < spec->part_count; i++) {
		const struct dataset_spec *part = &spec->parts[i];
		const char *const texts[] = {part->path,   part->root,	 part->format,
					     part->images, part->labels, part->split};
		for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
			size += texts[k] ? strlen(texts[k]) : 0;
	}
	return size > 0 && size <= PARTS_BYTES_MAX;
}

/* The keys of a map that say which dataset it is: how many, and they themselves. */
static uint32_t spec_keys(const struct dataset_spec *spec)
{
	return 1u + !!spec->kind + !!spec->root + !!spec->format + !!spec->images + !!spec->labels +
	       !!spec->split + parts_are_told(spec);
}

static void pack_spec(struct packer *packer, const struct dataset_spec *spec)
{
	const struct {
		const char *key, *value;
	} texts[] = {{"path", spec->path},     {"kind", spec->kind},	 {"root", spec->root},
		     {"format", spec->format}, {"images", spec->images}, {"labels", spec->labels},
		     {"split", spec->split}};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].value)
			item_string(packer, texts[i].key, texts[i].value);
	if (!parts_are_told(spec))
		return;
	pack_string(packer, "parts");
	pack_list(packer, spec->part_count);
	for (uint32_t i = 0; i < spec->part_count; i++) {
		pack_map(packer, spec_keys(&spec->parts[i]));
		pack_spec(packer, &spec->parts[i]);
	}
}

static void pack_stream(struct packer *packer, const struct stream *stream)
{
	uint64_t rings = 0, bytes = 0, readers = 0;
	double waits[WAIT_CAUSES] = {0};
	list_for_each(ring, next, &stream->rings, struct ring, link) {
		rings++;
		bytes += ring->segment.bytes;
		list_for_each(reader, after, &ring->readers, struct reader, in_ring) {
			readers++;
			wait_note(reader);
			wait_add_recent(&reader->wait, waits);
		}
	}
	const struct dataset_spec *spec = &stream->entry->spec;
	const struct stream_order *order = &stream->order;
	struct digest sampling;
	bool sampled = stream_order_hash(order, &sampling);
	pack_map(packer, 29 + sampled + spec_keys(spec));
	item_uint(packer, "stream", stream->id);
	item_uint(packer, "dataset", stream->entry->id);
	pack_spec(packer, spec);
	item_string(packer, "bad_samples", stream->order.substitute ? "substitute" : "error");
	item_boolean(packer, "exif_orientation", stream->order.exif);
	item_digest(packer, "fingerprint", dataset_fingerprint(stream->entry->dataset));
	item_string(packer, "pipeline", pipeline_text(stream->pipeline));
	item_digest(packer, "pipeline_hash", pipeline_hash(stream->pipeline));
	item_uint(packer, "samples", stream_positions(order));
	item_uint(packer, "subset_count", order->count);
	item_string(packer, "sampler", order->sampler ? sampler_text(order->sampler) : "");
	item_string(packer, "sampler_name", order->sampler ? sampler_name(order->sampler) : "");
	item_uint(packer, "echo", order->echo);
	item_uint(packer, "echo_window", order->echo_window);
	/* As asked for: what the transforms make is theirs. */
	item_uint(packer, "views", order->views / pipeline_views(stream->pipeline));
	if (sampled)
		item_digest(packer, "sampling_hash", sampling);
	item_uint(packer, "subset_start", stream->order.first);
	item_boolean(packer, "shuffle", stream->order.shuffle);
	item_uint(packer, "order_seed", stream->order.order_seed);
	item_uint(packer, "augment_seed", stream->order.augment_seed);
	item_uint(packer, "readers", readers);
	item_uint(packer, "rings", rings);
	item_uint(packer, "ring_bytes", bytes);
	item_uint(packer, "decoded", stream->decoded);
	item_uint(packer, "delivered", stream->delivered);
	item_float(packer, "images_per_second", stream->rate);
	pack_waits(packer, waits);
}

void listing_streams(struct session *session, const struct message_list *list)
{
	struct page page = page_begin(session, list);
	list_for_each(stream, next, &session->peer->server->streams, struct stream, link)
		if (page_takes(&page, stream->id))
			pack_stream(page.items, stream);
	page_send(&page);
}

static void pack_reader(struct packer *packer, const struct peer *peer, uint64_t now_ns)
{
	struct reader *reader = peer->session.reader;
	const struct wait *wait = &reader->wait;
	double recent[WAIT_CAUSES] = {0};
	enum reader_state state = reader_state(reader);
	const struct reader *other = state == READER_WAITING ? reader_waits_for(reader) : NULL;
	wait_note(reader);
	wait_add_recent(wait, recent);
	pack_map(packer, 29);
	item_uint(packer, "reader", reader->id);
	item_uint(packer, "pid", (uint64_t)peer->pid);
	item_uint(packer, "uid", (uint64_t)peer->uid);
	item_string(packer, "client", peer->session.client);
	item_string(packer, "job", reader->job);
	item_uint(packer, "rank", reader->share.rank);
	item_uint(packer, "world", reader->share.world);
	item_uint(packer, "stream", reader->stream->id);
	item_uint(packer, "ring", reader->ring ? reader->ring->id : 0);
	item_uint(packer, "batch_size", reader->share.batch_size);
	item_uint(packer, "epoch", reader->next.epoch);
	item_uint(packer, "position", share_span(&reader->share, &reader->next).position);
	item_uint(packer, "inflight", reader->inflight);
	item_uint(packer, "leased", reader->leased);
	item_string(packer, "state", reader_state_name(state));
	item_uint(packer, "waits_for", other ? other->id : 0);
	item_uint(packer, "delivered", reader->announced);
	item_float(packer, "images_per_second", reader->rate);
	item_float(packer, "age_s", (double)(now_ns - reader->attached_ns) * 1e-9);
	item_uint(packer, "priority", reader->priority);
	item_float(packer, "trainer_s", (double)wait->ns[WAIT_TRAINER] * 1e-9);
	item_float(packer, "storage_s", (double)wait->ns[WAIT_STORAGE] * 1e-9);
	item_float(packer, "decode_s", (double)wait->ns[WAIT_DECODE] * 1e-9);
	item_float(packer, "slot_s", (double)wait->ns[WAIT_SLOT] * 1e-9);
	pack_waits(packer, recent);
}

/* By connection: their ids rise along the list, a reader's may not (a peer can attach again). */
void listing_readers(struct session *session, const struct message_list *list)
{
	struct page page = page_begin(session, list);
	uint64_t now_ns = clock_ns();
	list_for_each(peer, next, &session->peer->server->peers, struct peer, link)
		if (peer->session.reader && page_takes(&page, peer->id))
			pack_reader(page.items, peer, now_ns);
	page_send(&page);
}

void listing_own(struct session *session, const struct message_list *list)
{
	struct page page = page_begin(session, list);
	if (page_takes(&page, session->peer->id))
		pack_reader(page.items, session->peer, clock_ns());
	page_send(&page);
}

static void pack_dataset(struct packer *packer, struct dataset_entry *entry)
{
	const struct dataset *dataset = entry->dataset;
	pack_map(packer, dataset ? 9 : 4);
	item_uint(packer, "dataset", entry->id);
	item_string(packer, "path", entry->spec.path);
	item_string(packer, "state", dataset ? "open" : "indexing");
	item_uint(packer, "found", atomic_load(&entry->progress.found));
	if (!dataset)
		return;
	item_string(packer, "kind", dataset_kind_name(dataset));
	item_uint(packer, "samples", dataset_count(dataset));
	item_uint(packer, "classes", dataset_class_count(dataset));
	item_digest(packer, "fingerprint", dataset_fingerprint(dataset));
	item_uint(packer, "index_bytes", dataset_index_bytes(dataset));
}

void listing_datasets(struct session *session, const struct message_list *list)
{
	struct page page = page_begin(session, list);
	list_for_each(entry, next, &session->peer->server->datasets, struct dataset_entry, link)
		if (page_takes(&page, entry->id))
			pack_dataset(page.items, entry);
	page_send(&page);
}

static void pack_bad(struct packer *packer, const struct bad *bad)
{
	pack_map(packer, 8);
	item_uint(packer, "dataset", bad->dataset);
	item_string(packer, "root", bad->root);
	item_uint(packer, "sample", bad->sample);
	item_string(packer, "path", bad->path);
	item_uint(packer, "code", bad->code);
	item_string(packer, "name", error_name(bad->code));
	item_string(packer, "text", bad->fault.text);
	item_uint(packer, "count", bad->count);
}

void listing_bad(struct session *session, const struct message_list *list)
{
	struct page page = page_begin(session, list);
	list_for_each(bad, next, &session->peer->server->bad, struct bad, link)
		if (page_takes(&page, bad->id))
			pack_bad(page.items, bad);
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
