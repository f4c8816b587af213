// SPDX-License-Identifier: MIT
#include "loop/engine/forecasts.h"

#include "cache/picture_cache.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "stage/stage.h"

/* Stores that keep something of a dataset and use its courses: one of these. */
enum kept { KEPT_PICTURES, KEPT_OBJECTS };

static const void *kept_of(const struct dataset_entry *entry, enum kept kept)
{
	return kept == KEPT_PICTURES ? (const void *)entry->pictures : (const void *)entry->staged;
}

static struct courses *courses_of(const struct dataset_entry *entry, enum kept kept)
{
	return kept == KEPT_PICTURES ? picture_set_courses(entry->pictures)
				     : stage_set_courses(entry->staged);
}

static bool stream_has_course(const struct stream *stream)
{
	const struct stream_order *order = &stream->order;
	return !order->sampler && !order->forms && order->echo <= 1 && order->count > 0;
}

static struct course_order course_of(const struct ring *ring)
{
	const struct stream_order *order = &ring->stream->order;
	return (struct course_order){
		.owner = ring,
		.shuffle = order->shuffle,
		.seed = order->order_seed,
		.first = order->first,
		.count = order->count,
		.shards = order->shards,
	};
}

/* Each ring is at a place of its own. */
static void forecasts_set(struct core *core, const struct dataset_entry *entry, enum kept kept,
			  uint64_t now_ns)
{
	struct course_order orders[COURSES_MAX];
	unsigned count = 0;
	list_for_each(stream, next, &core->streams, struct stream, link) {
		if (kept_of(stream->entry, kept) != kept_of(entry, kept) ||
		    !stream_has_course(stream))
			continue;
		list_for_each(ring, after, &stream->rings, struct ring, link)
			if (count < COURSES_MAX)
				orders[count++] = course_of(ring);
	}
	courses_set(courses_of(entry, kept), orders, count, now_ns);
}

/* Datasets may share a set. */
static bool is_first_of_set(struct core *core, const struct dataset_entry *entry, enum kept kept)
{
	list_for_each(other, next, &core->datasets, struct dataset_entry, link)
		if (kept_of(other, kept) == kept_of(entry, kept))
			return other == entry;
	return true;
}

void forecasts_add(const struct ring *ring)
{
	const struct dataset_entry *entry = ring->stream->entry;
	const struct course_order order = course_of(ring);
	if (!stream_has_course(ring->stream))
		return;
	for (enum kept kept = KEPT_PICTURES; kept <= KEPT_OBJECTS; kept++)
		if (kept_of(entry, kept))
			courses_add(courses_of(entry, kept), &order);
}

void forecasts_tick(struct core *core, uint64_t now_ns)
{
	list_for_each(entry, next, &core->datasets, struct dataset_entry, link)
		for (enum kept kept = KEPT_PICTURES; kept <= KEPT_OBJECTS; kept++)
			if (kept_of(entry, kept) && is_first_of_set(core, entry, kept))
				forecasts_set(core, entry, kept, now_ns);
}
