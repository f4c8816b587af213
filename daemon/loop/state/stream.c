// SPDX-License-Identifier: MIT
#include "loop/state/stream.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/echo.h"
#include "base/order.h"
#include "base/shard_order.h"
#include "loop/state/bucket_forms.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/pictures.h"
#include "loop/state/producer.h"
#include "work/sample.h"

/* A bad sample's neighbours are tried this far; beyond that the dataset is broken, not a sample. */
#define STREAM_SUBSTITUTES 16

/* Samples of an epoch before echo. */
static uint64_t order_samples(const struct stream_order *order)
{
	if (order->forms)
		return bucket_order_positions(order->forms->order);
	return order->sampler ? sampler_positions(order->sampler) : order->count;
}

uint64_t stream_positions(const struct stream_order *order)
{
	return order_samples(order) * order->echo;
}

/* Does the same sample stand at each position, as far as samplers and echo say? */
static bool stream_same_samples(const struct stream_order *a, const struct stream_order *b)
{
	if (a->echo != b->echo || (a->echo > 1 && a->echo_window != b->echo_window) ||
	    !a->sampler != !b->sampler || a->window != b->window)
		return false;
	if (!a->forms != !b->forms)
		return false;
	if (a->forms) {
		struct digest m = bucket_order_hash(a->forms->order);
		struct digest n = bucket_order_hash(b->forms->order);
		return digest_equal(&m, &n);
	}
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
	if (!order->sampler && order->echo == 1 && order->views == 1 && !order->window &&
	    !order->forms)
		return false;
	if (order->echo == 1)
		all.echo_window = 0;
	if (order->sampler)
		all.sampler = sampler_hash(order->sampler);
	*out = digest_of(&all, sizeof(all));
	if (order->window) {
		const struct {
			struct digest others;
			uint64_t window;
		} shards = {*out, order->window};
		*out = digest_of(&shards, sizeof(shards));
	}
	if (order->forms) {
		const struct digest both[2] = {*out, bucket_order_hash(order->forms->order)};
		*out = digest_of(both, sizeof(both));
	}
	return true;
}

static bool stream_is_alone(const struct stream *stream)
{
	uint32_t arrays;
	const struct dataset *dataset = stream->entry->dataset;
	return stream->order.map || dataset_arrays(dataset, &arrays) || !dataset_is_pure(dataset);
}

static struct job_recipe stream_recipe(const struct stream *stream)
{
	uint32_t arrays;
	bool copies = dataset_arrays(stream->entry->dataset, &arrays);
	return (struct job_recipe){
		.purpose = copies	       ? &purpose_copy
			   : stream->order.map ? &purpose_map
					       : &purpose_write,
		.dataset = stream->entry->dataset,
		.pipeline = stream->pipeline,
		.seek_indexes = stream->entry->seek_indexes,
		.keeper.pictures = stream->entry->pictures,
		.keeper.disk = stream->entry->pictures ? stream->core->pictures->disk : NULL,
		.staged = stream->entry->staged,
		.limits = core_decode_limits(stream->core),
		.max_bytes = stream->core->config->max_file_bytes,
		.exif = stream->order.exif,
		.fields = stream->order.fields,
		.first = stream->order.first,
		.count = stream->order.sampler ? sampler_entries(stream->order.sampler)
					       : stream->order.count,
		.sampler = stream->order.sampler,
		.substitutes = stream->order.substitute ? STREAM_SUBSTITUTES : 0,
	};
}

/* The recipes of the samples of each bucket, which differ in size, from that of all. */
static void stream_make_recipes(struct stream *stream)
{
	struct bucket_forms *forms = stream->order.forms;
	stream->recipe = stream_recipe(stream);
	for (uint32_t i = 0; forms && i < forms->count; i++) {
		struct bucket_form *form = &forms->form[i];
		form->recipe = stream->recipe;
		form->recipe.pipeline = form->pipeline;
		form->recipe.fields = form->fields;
		form->recipe.buckets = forms->order;
		form->recipe.begin = bucket_order_first(forms->order, i);
		form->recipe.count = bucket_order_count(forms->order, i);
	}
}

const struct bucket_order *stream_buckets(const struct stream *stream)
{
	return stream->order.forms ? stream->order.forms->order : NULL;
}

struct text stream_sizes(const struct stream *stream)
{
	return stream->order.forms ? stream->order.forms->sizes : (struct text){0};
}

uint64_t stream_run(const struct stream *stream)
{
	const struct bucket_forms *forms = stream->order.forms;
	return forms ? bucket_order_run_length(forms->order) : 1;
}

const struct bucket_form *stream_form(const struct stream *stream, uint64_t epoch,
				      uint64_t position)
{
	const struct bucket_forms *forms = stream->order.forms;
	if (!forms)
		return NULL;
	return &forms->form[bucket_order_run(forms->order, (uint32_t)epoch, position).bucket];
}

uint64_t stream_table_bytes(const struct stream_order *order)
{
	return (order->sampler ? sampler_bytes(order->sampler) : 0) +
	       (order->shards ? shard_order_bytes(order->shards) : 0) +
	       (order->forms ? bucket_order_bytes(order->forms->order) : 0);
}

/* Is the same read and decoded at each position? The limits of a decode may change by `set`. What a
 * Map gets has been drawn for its stream. */
static bool stream_can_share(const struct stream *a, const struct stream *b)
{
	const struct stream_order *p = &a->order, *q = &b->order;
	const struct decode_limits *l = &a->recipe.limits, *m = &b->recipe.limits;
	const struct image_form f = pipeline_form(a->pipeline), g = pipeline_form(b->pipeline);
	return a->entry == b->entry && f.type == g.type && f.channels == g.channels && !a->alone &&
	       !b->alone && !stream_inexact(a) && p->shuffle == q->shuffle &&
	       p->order_seed == q->order_seed && p->first == q->first && p->count == q->count &&
	       p->exif == q->exif && stream_same_samples(p, q) &&
	       a->recipe.max_bytes == b->recipe.max_bytes && l->max_pixels == m->max_pixels &&
	       l->max_coefficient_bytes == m->max_coefficient_bytes &&
	       l->max_scans == m->max_scans && l->deadline_ms == m->deadline_ms;
}

const struct code *stream_inexact(const struct stream *stream)
{
	const struct code *source = stream->entry->code, *map = stream->order.map;
	return source && source->differs ? source : map && map->differs ? map : NULL;
}

static void stream_link_sharing(struct stream *stream)
{
	list_init(&stream->sharing);
	list_for_each(other, next, &stream->core->streams, struct stream, link) {
		if (other == stream || !stream_can_share(other, stream))
			continue;
		list_append(&other->sharing, &stream->sharing);
		return;
	}
}

static void parts_deinit(struct pipeline *pipeline, const struct stream_order *order,
			 struct description *description)
{
	pipeline_free(pipeline);
	sampler_free(order->sampler);
	shard_order_free(order->shards);
	bucket_forms_free(order->forms);
	if (order->map)
		code_put(order->map);
	description_deinit(description);
}

struct stream *stream_hold(struct stream *stream)
{
	stream->users++;
	return stream;
}

/* Are slots as large? Ragged fields of a Map have room as the reader asks for it. */
static bool fields_equal_room(const struct fields *a, const struct fields *b)
{
	for (uint32_t i = 0; i < a->made; i++)
		if (a->field[a->made_at[i]].bytes != b->field[b->made_at[i]].bytes)
			return false;
	return true;
}

int stream_get(struct stream **out, struct core *core, struct dataset_entry *entry,
	       struct pipeline *pipeline, const struct stream_order *order,
	       struct description *description)
{
	list_for_each(stream, next, &core->streams, struct stream, link) {
		if (stream->entry != entry || stream->order.map != order->map ||
		    stream_inexact(stream) ||
		    !digest_equal(&stream->description.stream, &description->stream) ||
		    !fields_equal_room(&stream->order.fields, &order->fields))
			continue;
		parts_deinit(pipeline, order, description);
		*out = stream_hold(stream);
		return 0;
	}
	struct stream *stream = calloc(1, sizeof(*stream));
	if (!stream) {
		parts_deinit(pipeline, order, description);
		return -ENOMEM;
	}
	stream->id = core_new_id(core);
	stream->core = core;
	stream->entry = catalog_hold(entry);
	stream->pipeline = pipeline;
	stream->order = *order;
	stream->description = *description;
	*description = DESCRIPTION_NULL;
	stream->alone = stream_is_alone(stream);
	stream_make_recipes(stream);
	stream->users = 1;
	list_init(&stream->rings);
	list_append(&core->streams, &stream->link);
	core->ring_bytes += stream_table_bytes(order);
	stream_link_sharing(stream);
	core_count(core, COUNTER_STREAMS, 1);
	*out = stream;
	return 0;
}

void stream_put(struct stream *stream)
{
	if (--stream->users > 0)
		return;
	assert(list_empty(&stream->rings));
	list_remove(&stream->link);
	list_remove(&stream->sharing);
	core_count(stream->core, COUNTER_STREAMS, -1);
	stream->core->ring_bytes -= stream_table_bytes(&stream->order);
	parts_deinit(stream->pipeline, &stream->order, &stream->description);
	catalog_release(stream->entry);
	free(stream);
}

struct stream *stream_of_user(const struct core *core, uint64_t id, uid_t uid)
{
	list_for_each(stream, next, &core->streams, struct stream, link)
		if (stream->id == id && stream->entry->uid == uid)
			return stream;
	return NULL;
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

uint64_t stream_entry(const struct stream *stream, uint64_t epoch, uint64_t position,
		      struct draw_key *key_out)
{
	const struct stream_order *order = &stream->order;
	const struct echo echo = stream_echo(order);
	uint64_t at = position % stream_positions(order), seed = order->order_seed;
	uint32_t number = (uint32_t)epoch;
	*key_out = (struct draw_key){.seed = order->augment_seed, .epoch = number, .position = at};
	if (order->forms)
		return bucket_order_entry(order->forms->order, number, at);
	at = echo_place(&echo, number, at);
	if (order->shards)
		return shard_order_at(order->shards, seed, number, at);
	if (order->sampler)
		return sampler_entry(order->sampler, order->shuffle, seed, number, at);
	return order->shuffle ? order_at(seed, number, order->count, at) : at;
}

void stream_echoes(const struct stream *stream, uint64_t epoch, uint64_t position,
		   uint64_t out[JOB_SHARERS_MAX])
{
	const struct echo echo = stream_echo(&stream->order);
	uint64_t place = echo_place(&echo, (uint32_t)epoch, position);
	for (uint32_t flow = 0; flow < echo.times; flow++)
		out[flow] = echo_position(&echo, (uint32_t)epoch, place, flow);
}

uint64_t stream_partner(const struct stream *stream, uint64_t epoch, uint64_t position,
			uint32_t number, struct draw_key *key_out)
{
	uint64_t count = stream_positions(&stream->order), at = position % count;
	uint64_t other = at ^ number;
	return stream_entry(stream, epoch, other < count ? other : at, key_out);
}
