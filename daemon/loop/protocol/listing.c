// SPDX-License-Identifier: MIT
#include "loop/protocol/listing.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "loop/policy/rows.h"
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

static bool is_column(const char *key)
{
	return row_find(ROW_STREAM, key);
}

/* `packer` is for the keys of its dataset. The row's own column stands for one of the same name. */
static void pack_stream(struct packer *items, struct packer *packer, const struct stream *stream)
{
	packer_clear(packer);
	dataset_spec_pack_keys(&stream->entry->spec, is_column, packer);
	const struct row_stream row = stream_row(stream, packer);
	row_pack(items, ROW_STREAM, &row);
}

void listing_streams(struct session *session, const struct message_list *list)
{
	struct page page = page_begin(session, list);
	list_for_each(stream, next, &session->protocol->core->streams, struct stream, link)
		if (page_takes(&page, stream->id))
			pack_stream(page.items, session->protocol->packer, stream);
	page_send(&page);
}

void listing_description(struct session *session, const struct message_list *list,
			 const uid_t *owner)
{
	const struct stream *found = NULL;
	struct packer *packer = session->protocol->packer;
	struct page page = page_begin(session, list);
	char text[96];
	list_for_each(stream, next, &session->protocol->core->streams, struct stream, link)
		if (stream->id == list->id && (!owner || stream->entry->uid == *owner))
			found = stream;
	if (!found) {
		snprintf(text, sizeof(text), STREAM_NONE, (unsigned long long)list->id);
		reply_error(session, ERROR_PERMISSION, list->seq, text);
		return;
	}
	packer_clear(packer);
	pack_packed(packer, found->description.whole);
	struct row_description row = {.stream = found->id, .description = packer};
	row_set_digest(row.digest, found->description.digest);
	row_pack(page.items, ROW_DESCRIPTION, &row);
	page.count = 1;
	page_send(&page);
}

static void pack_reader(struct packer *packer, const struct session *session)
{
	struct row_reader row = reader_row(session->reader);
	row.pid = (uint64_t)session->connection.pid;
	row.client = session->client;
	row_pack(packer, ROW_READER, &row);
}

/* By session, whose ids rise along the list; a reader's may not: a client can attach again. */
void listing_readers(struct session *session, const struct message_list *list)
{
	struct page page = page_begin(session, list);
	list_for_each(other, next, &session->protocol->sessions, struct session, link)
		if (other->reader && page_takes(&page, other->id))
			pack_reader(page.items, other);
	page_send(&page);
}

void listing_own(struct session *session, const struct message_list *list)
{
	struct page page = page_begin(session, list);
	if (page_takes(&page, session->id))
		pack_reader(page.items, session);
	page_send(&page);
}

void listing_producers(struct session *session, const struct message_list *list)
{
	struct page page = page_begin(session, list);
	list_for_each(other, next, &session->protocol->sessions, struct session, link) {
		if (!other->producer || !page_takes(&page, other->id))
			continue;
		const struct row_producer row = producer_row(other->producer);
		row_pack(page.items, ROW_PRODUCER, &row);
	}
	page_send(&page);
}

static void pack_dataset(struct packer *packer, struct dataset_entry *entry)
{
	const struct row_dataset row = dataset_row(entry);
	row_pack(packer, ROW_DATASET, &row);
}

void listing_datasets(struct session *session, const struct message_list *list)
{
	struct page page = page_begin(session, list);
	list_for_each(entry, next, &session->protocol->core->datasets, struct dataset_entry, link)
		if (page_takes(&page, entry->id))
			pack_dataset(page.items, entry);
	page_send(&page);
}

/* Say whether pictures are also read from the disk. */
static void say_disk(const struct picture_store *disk, char text[80])
{
	double speed = disk ? (double)atomic_load(&disk->speed.found) * 1e-9 : 0;
	snprintf(text, 80, "off");
	if (disk && read_speed_is_slow(&disk->speed))
		snprintf(text, 80, "%.2f GB/s: only files without an index", speed);
	else if (disk && picture_store_is_on(disk))
		snprintf(text, 80, speed > 0 ? "%.2f GB/s" : "on", speed);
}

static void pack_kept(struct packer *packer, const struct dataset_entry *entry)
{
	struct picture_totals totals = picture_set_totals(entry->pictures);
	struct stage_set_totals objects = {0};
	char disk[80];
	if (entry->staged)
		objects = stage_set_totals(entry->staged);
	say_disk(entry->core->pictures->disk, disk);
	const struct row_cache row = {
		.dataset = entry->id,
		.path = entry->spec.path,
		.samples = dataset_count(entry->dataset),
		.pictures = totals.pictures,
		.files = totals.files,
		.bytes = totals.bytes,
		.hits = totals.hits,
		.disk = disk,
		.objects = objects.items,
		.object_bytes = objects.bytes,
		.object_pinned = objects.pinned,
		.object_hits = objects.hits,
	};
	row_pack(packer, ROW_CACHE, &row);
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
	const struct row_memory rows[] = {
		{"rings", core->ring_bytes, config->ring_memory, "ring-memory"},
		{"arrays", atomic_load(&core->dataset_account.bytes), config->dataset_memory,
		 "dataset-memory"},
		{"seek indexes", core->counters[COUNTER_INDEX_BYTES], config->index_memory,
		 "index-memory"},
		{"pictures", core->counters[COUNTER_CACHE_BYTES],
		 core->counters[COUNTER_CACHE_LIMIT], "cache-memory"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (page_takes(&page, i + 1))
			row_pack(page.items, ROW_MEMORY, &rows[i]);
	page_send(&page);
}

static void pack_bad(struct packer *packer, const struct bad_sample *bad)
{
	const struct row_bad row = bad_row(bad);
	row_pack(packer, ROW_BAD, &row);
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
		metrics_write(text, protocol->core, protocol->watch->started_ns, true, false);
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
	const struct row_page row = {protocol->metrics_port, protocol->metrics_socket, token};
	if (page_takes(&page, session->id))
		row_pack(page.items, ROW_PAGE, &row);
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
