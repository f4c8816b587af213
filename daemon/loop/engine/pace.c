// SPDX-License-Identifier: MIT
#include "loop/engine/pace.h"

#include "cache/picture_cache.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"

static bool stream_has_course(const struct stream *stream, const struct picture_set *set)
{
	const struct stream_order *order = &stream->order;
	return stream->entry->pictures == set && !order->sampler && order->echo <= 1 &&
	       order->count > 0;
}

/* Each ring is at a place of its own. */
static void pace_set(struct core *core, struct picture_set *set, uint64_t now_ns)
{
	struct course_order orders[COURSES_MAX];
	unsigned count = 0;
	list_for_each(stream, next, &core->streams, struct stream, link) {
		if (!stream_has_course(stream, set))
			continue;
		list_for_each(ring, after, &stream->rings, struct ring, link)
			if (count < COURSES_MAX)
				orders[count++] = (struct course_order){
					.owner = ring,
					.shuffle = stream->order.shuffle,
					.seed = stream->order.order_seed,
					.first = stream->order.first,
					.count = stream->order.count,
				};
	}
	courses_set(picture_set_courses(set), orders, count, now_ns);
}

/* Datasets may share a set. */
static bool is_first_of_set(struct core *core, const struct dataset_entry *entry)
{
	list_for_each(other, next, &core->datasets, struct dataset_entry, link)
		if (other->pictures == entry->pictures)
			return other == entry;
	return true;
}

void pace_tick(struct core *core, uint64_t now_ns)
{
	list_for_each(entry, next, &core->datasets, struct dataset_entry, link)
		if (entry->pictures && is_first_of_set(core, entry))
			pace_set(core, entry->pictures, now_ns);
}
