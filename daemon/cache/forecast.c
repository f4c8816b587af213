// SPDX-License-Identifier: MIT
#include "cache/forecast.h"

#include <string.h>

#include "base/order.h"

#define RATE_LEAST 0.01 /* samples a second */

static struct course *courses_find(struct courses *courses, const void *owner)
{
	for (unsigned i = 0; i < courses->count; i++)
		if (courses->course[i].order.owner == owner)
			return &courses->course[i];
	return NULL;
}

static double course_rate(const struct course *course, double seconds)
{
	double rate = (double)(course->next - course->counted) / seconds;
	return course->rate > 0 ? (course->rate + rate) / 2 : rate;
}

void courses_init(struct courses *courses)
{
	*courses = (struct courses){0};
	pthread_mutex_init(&courses->lock, NULL); /* cannot fail on Linux */
}

void courses_deinit(struct courses *courses)
{
	for (unsigned i = 0; i < courses->count; i++)
		shard_order_free(courses->course[i].order.shards);
	pthread_mutex_destroy(&courses->lock);
}

/* The order of shards that the course had before, or a copy. Without memory for one nothing is
 * known of the course: it stands still. */
static void course_take_shards(struct course *course, struct course *before)
{
	struct shard_order *copy = NULL;
	if (before && before->order.shards && course->order.shards &&
	    before->order.seed == course->order.seed &&
	    before->order.count == course->order.count) {
		copy = before->order.shards;
		before->order.shards = NULL;
	} else if (course->order.shards && shard_order_copy(&copy, course->order.shards)) {
		course->order.count = 0;
	}
	course->order.shards = copy;
}

void courses_set(struct courses *courses, const struct course_order *orders, unsigned count,
		 uint64_t now_ns)
{
	struct course now[COURSES_MAX];
	count = count < COURSES_MAX ? count : COURSES_MAX;
	pthread_mutex_lock(&courses->lock);
	double seconds = (double)(now_ns - courses->set_ns) * 1e-9;
	for (unsigned i = 0; i < count; i++) {
		struct course *before = courses_find(courses, orders[i].owner);
		struct course *course = &now[i];
		*course = (struct course){0};
		if (before)
			*course = *before;
		course->order = orders[i];
		course_take_shards(course, before);
		if (before && seconds > 0)
			course->rate = before->counted ? course_rate(before, seconds) : 0;
		course->counted = course->next;
	}
	for (unsigned i = 0; i < courses->count; i++) /* of those that are gone */
		shard_order_free(courses->course[i].order.shards);
	memcpy(courses->course, now, count * sizeof(*now));
	courses->count = count;
	courses->set_ns = now_ns;
	pthread_mutex_unlock(&courses->lock);
}

void courses_add(struct courses *courses, const struct course_order *order)
{
	pthread_mutex_lock(&courses->lock);
	struct course *course = courses_find(courses, order->owner);
	if (!course && courses->count < COURSES_MAX)
		course = &courses->course[courses->count++];
	else if (course) /* of another one that was there */
		shard_order_free(course->order.shards);
	if (course) {
		*course = (struct course){.order = *order};
		course_take_shards(course, NULL);
	}
	pthread_mutex_unlock(&courses->lock);
}

void courses_show(struct courses *courses, const void *owner, uint64_t ordinal, uint64_t now_ns)
{
	pthread_mutex_lock(&courses->lock);
	struct course *course = courses_find(courses, owner);
	/* Workers finish in another order than that of the stream. */
	if (course && ordinal >= course->next) {
		course->next = ordinal + 1;
		course->shown_ns = now_ns;
	}
	pthread_mutex_unlock(&courses->lock);
}

/* From `next` on. */
static uint64_t course_find(const struct course *course, uint64_t index, uint64_t next)
{
	const struct course_order *order = &course->order;
	uint64_t epoch = next / order->count, at = index;
	for (unsigned later = 0; later < 2; later++, epoch++) {
		if (order->shards)
			at = shard_order_find(order->shards, order->seed, (uint32_t)epoch, index);
		else if (order->shuffle)
			at = order_find(order->seed, (uint32_t)epoch, order->count, index);
		if (epoch * order->count + at >= next)
			break;
	}
	return epoch * order->count + at;
}

static bool course_is_near(const struct course *course, uint64_t sample)
{
	const struct course_order *order = &course->order;
	uint64_t index = sample - order->first, reach = COURSE_NEAR;
	if (sample < order->first || index >= order->count)
		return false;
	if (order->shards)
		reach += shard_order_window(order->shards);
	uint64_t shown = course->next % order->count; /* in this epoch */
	uint64_t back = shown < COURSE_NEAR ? shown : COURSE_NEAR, from = course->next - back;
	return course_find(course, index, from) - from < back + reach;
}

bool courses_near(struct courses *courses, uint64_t sample)
{
	bool near = false;
	pthread_mutex_lock(&courses->lock);
	for (unsigned i = 0; i < courses->count && !near; i++)
		near = course_is_near(&courses->course[i], sample);
	pthread_mutex_unlock(&courses->lock);
	return near;
}

static uint64_t course_forecast(const struct course *course, uint64_t sample, uint64_t now_ns)
{
	uint64_t index = sample - course->order.first, next = course->next;
	if (sample < course->order.first || index >= course->order.count ||
	    course->rate < RATE_LEAST)
		return FORECAST_NEVER;
	if (now_ns > course->shown_ns) /* it has gone on since */
		next += (uint64_t)((double)(now_ns - course->shown_ns) * 1e-9 * course->rate);
	double distance = (double)(course_find(course, index, next) - next);
	return now_ns + (uint64_t)(distance / course->rate * 1e9);
}

struct forecast forecast_make(struct courses *courses, uint64_t sample, uint64_t now_ns)
{
	pthread_mutex_lock(&courses->lock);
	struct forecast forecast = {.count = courses->count};
	for (unsigned i = 0; i < forecast.count; i++)
		forecast.at_ns[i] = course_forecast(&courses->course[i], sample, now_ns);
	pthread_mutex_unlock(&courses->lock);
	return forecast;
}

uint64_t forecast_first(const struct forecast *forecast)
{
	uint64_t first = FORECAST_NEVER;
	for (unsigned i = 0; i < forecast->count; i++)
		if (forecast->at_ns[i] < first)
			first = forecast->at_ns[i];
	return first;
}

unsigned forecast_before(const struct forecast *forecast, uint64_t at_ns)
{
	unsigned count = 0;
	for (unsigned i = 0; i < forecast->count; i++)
		count += forecast->at_ns[i] < at_ns;
	return count;
}
