// SPDX-License-Identifier: MIT
#include "loop/state/stream.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/echo.h"
#include "base/order.h"
#include "loop/policy/decode_sharing.h"
#include "loop/server.h"
#include "loop/state/catalog.h"
#include "loop/state/ring.h"

/* A bad sample's neighbours are tried this far; beyond that the dataset is broken, not a sample. */
#define STREAM_SUBSTITUTES 16

/* Samples of an epoch before echo. */
static uint64_t order_samples(const struct stream_order *order)
{
	return order->sampler ? sampler_positions(order->sampler) : order->count;
}

uint64_t stream_positions(const struct stream_order *order)
{
	return order_samples(order) * order->echo;
}

bool stream_same_samples(const struct stream_order *a, const struct stream_order *b)
{
	if (a->echo != b->echo || (a->echo > 1 && a->echo_window != b->echo_window) ||
	    !a->sampler != !b->sampler)
		return false;
	if (!a->sampler)
		return true;
	struct digest p = sampler_hash(a->sampler), q = sampler_hash(b->sampler);
	return digest_equal(&p, &q);
}

bool stream_order_hash(const struct stream_order *order, struct digest *out)
{
	struct {
		struct digest sampler;
		uint64_t echo, echo_window, views;
	} all = {.echo = order->echo, .echo_window = order->echo_window, .views = order->views};
	if (!order->sampler && order->echo == 1 && order->views == 1)
		return false;
	if (order->echo == 1)
		all.echo_window = 0;
	if (order->sampler)
		all.sampler = sampler_hash(order->sampler);
	*out = digest_of(&all, sizeof(all));
	return true;
}

static bool order_equal(const struct stream_order *a, const struct stream_order *b)
{
	struct digest p = {0}, q = {0};
	stream_order_hash(a, &p);
	stream_order_hash(b, &q);
	return digest_equal(&p, &q) && a->shuffle == b->shuffle && a->order_seed == b->order_seed &&
	       a->augment_seed == b->augment_seed && a->first == b->first && a->count == b->count &&
	       a->substitute == b->substitute && a->exif == b->exif &&
	       fields_equal(&a->fields, &b->fields);
}

static bool stream_matches(const struct stream *stream, const struct dataset_entry *entry,
			   const struct digest *pipeline, const struct stream_order *order)
{
	struct digest hash = pipeline_hash(stream->pipeline);
	return stream->entry == entry && digest_equal(&hash, pipeline) &&
	       order_equal(&stream->order, order);
}

static struct job_recipe stream_recipe(const struct stream *stream)
{
	return (struct job_recipe){
		.dataset = stream->entry->dataset,
		.pipeline = stream->pipeline,
		.seek_indexes = stream->entry->seek_indexes,
		.limits = server_limits(stream->server),
		.max_bytes = stream->server->config->max_file_bytes,
		.exif = stream->order.exif,
		.fields = stream->order.fields,
		.first = stream->order.first,
		.count = stream->order.sampler ? sampler_entries(stream->order.sampler)
					       : stream->order.count,
		.sampler = stream->order.sampler,
		.substitutes = stream->order.substitute ? STREAM_SUBSTITUTES : 0,
	};
}

uint64_t stream_table_bytes(const struct stream_order *order)
{
	return order->sampler ? sampler_bytes(order->sampler) : 0;
}

int stream_get(struct stream **out, struct server *server, struct dataset_entry *entry,
	       struct pipeline *pipeline, const struct stream_order *order)
{
	struct digest hash = pipeline_hash(pipeline);
	list_for_each(stream, next, &server->streams, struct stream, link) {
		if (!stream_matches(stream, entry, &hash, order))
			continue;
		pipeline_free(pipeline);
		sampler_free(order->sampler);
		stream->users++;
		*out = stream;
		return 0;
	}
	struct stream *stream = calloc(1, sizeof(*stream));
	if (!stream) {
		pipeline_free(pipeline);
		sampler_free(order->sampler);
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
	server->budget_in_use += stream_table_bytes(order);
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
	stream->server->budget_in_use -= stream_table_bytes(&stream->order);
	sampler_free(stream->order.sampler);
	pipeline_free(stream->pipeline);
	catalog_release(stream->entry);
	free(stream);
}

static struct echo stream_echo(const struct stream_order *order)
{
	return (struct echo){
		.n = order_samples(order),
		.window = order->echo_window,
		.times = order->echo,
		.shuffle = order->shuffle,
		.seed = order->order_seed,
	};
}

uint64_t stream_place(const struct stream *stream, uint64_t epoch, uint64_t position,
		      struct draw_key *key_out)
{
	const struct stream_order *order = &stream->order;
	const struct echo echo = stream_echo(order);
	uint64_t at = position % stream_positions(order), seed = order->order_seed;
	uint32_t number = (uint32_t)epoch;
	*key_out = (struct draw_key){.seed = order->augment_seed, .epoch = number, .position = at};
	at = echo_place(&echo, number, at);
	if (order->sampler)
		return sampler_entry(order->sampler, order->shuffle, seed, number, at);
	return order->shuffle ? order_at(seed, number, order->count, at) : at;
}

void stream_echoes(const struct stream *stream, uint64_t epoch, uint64_t position,
		   uint64_t out[JOB_SHARERS_MAX])
{
	const struct echo echo = stream_echo(&stream->order);
	uint64_t place = echo_place(&echo, (uint32_t)epoch, position);
	for (uint32_t turn = 0; turn < echo.times; turn++)
		out[turn] = echo_position(&echo, (uint32_t)epoch, place, turn);
}

uint64_t stream_partner(const struct stream *stream, uint64_t epoch, uint64_t position,
			struct draw_key *key_out)
{
	uint64_t count = stream_positions(&stream->order), at = position % count, other = at ^ 1;
	return stream_place(stream, epoch, other < count ? other : at, key_out);
}
