// SPDX-License-Identifier: MIT
#include "loop/stream.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "loop/catalog.h"
#include "loop/kin.h"
#include "loop/ring.h"
#include "loop/server.h"

/* A bad sample's neighbours are tried this far; beyond that the dataset is broken, not a sample. */
#define STREAM_SUBSTITUTES 16

static bool stream_matches(const struct stream *stream, const struct dataset_entry *entry,
			   const struct digest *pipeline, const struct stream_order *order)
{
	const struct stream_order *own = &stream->order;
	struct digest hash = pipeline_hash(stream->pipeline);
	return stream->entry == entry && digest_equal(&hash, pipeline) &&
	       own->shuffle == order->shuffle && own->order_seed == order->order_seed &&
	       own->augment_seed == order->augment_seed && own->first == order->first &&
	       own->count == order->count && own->substitute == order->substitute &&
	       own->exif == order->exif;
}

static struct job_recipe stream_recipe(const struct stream *stream)
{
	return (struct job_recipe){
		.dataset = stream->entry->dataset,
		.pipeline = stream->pipeline,
		.scans = stream->entry->scans,
		.limits = server_limits(stream->server),
		.max_bytes = stream->server->config->max_file_bytes,
		.exif = stream->order.exif,
		.first = stream->order.first,
		.count = stream->order.count,
		.substitutes = stream->order.substitute ? STREAM_SUBSTITUTES : 0,
	};
}

int stream_get(struct stream **out, struct server *server, struct dataset_entry *entry,
	       struct pipeline *pipeline, const struct stream_order *order)
{
	struct digest hash = pipeline_hash(pipeline);
	list_for_each(stream, next, &server->streams, struct stream, link) {
		if (!stream_matches(stream, entry, &hash, order))
			continue;
		pipeline_free(pipeline);
		stream->users++;
		*out = stream;
		return 0;
	}
	struct stream *stream = calloc(1, sizeof(*stream));
	if (!stream) {
		pipeline_free(pipeline);
		return -ENOMEM;
	}
	stream->id = server_new_id(server);
	stream->server = server;
	stream->entry = catalog_hold(entry);
	stream->pipeline = pipeline;
	stream->order = *order;
	stream->recipe = stream_recipe(stream);
	stream->users = 1;
	list_init(&stream->rings);
	list_append(&server->streams, &stream->link);
	kin_join(stream);
	server_count(server, COUNTER_STREAMS, 1);
	*out = stream;
	return 0;
}

void stream_put(struct stream *stream)
{
	if (--stream->users > 0)
		return;
	assert(list_empty(&stream->rings));
	list_remove(&stream->link);
	kin_leave(stream);
	server_count(stream->server, COUNTER_STREAMS, -1);
	pipeline_free(stream->pipeline);
	catalog_release(stream->entry);
	free(stream);
}

uint64_t stream_sample(const struct stream *stream, uint64_t epoch, uint64_t position,
		       struct draw_key *key_out)
{
	const struct stream_order *order = &stream->order;
	uint64_t at = position % order->count;
	*key_out = (struct draw_key){order->augment_seed, (uint32_t)epoch, at};
	return order->first +
	       (order->shuffle ? order_at(order->order_seed, (uint32_t)epoch, order->count, at)
			       : at);
}
