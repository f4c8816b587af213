/* SPDX-License-Identifier: MIT */
/*
 * Forecast of when the samples of a dataset are needed next. A course is a stream at one place of
 * its order, which it goes through at its rate. The order is a bijection, so the position of a
 * sample is known, and with it the time. A stream without such an order (a sampler) has no course.
 * Any thread; one lock. Knows no stream and no picture.
 */
#ifndef STOKER_CACHE_FORECAST_H
#define STOKER_CACHE_FORECAST_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/shard_order.h"

#define COURSES_MAX 8 /* of a dataset; more are left out */

struct course_order {
	const void *owner; /* to know it again */
	bool shuffle;
	uint64_t seed;
	uint64_t first, count;	    /* its samples: [first, first + count), not none */
	struct shard_order *shards; /* NULL: it does not go shard by shard */
};

struct courses {
	pthread_mutex_t lock;
	unsigned count;
	uint64_t set_ns; /* when the rates were found */
	struct course {
		struct course_order order;
		uint64_t next; /* the ordinal that it shows next: epoch * count + position ... */
		uint64_t shown_ns; /* ... since then */
		uint64_t counted;  /* `next` when the rates were found */
		double rate;	   /* samples a second; 0: not known yet, or it stands still */
	} course[COURSES_MAX];
};

void courses_init(struct courses *courses);
void courses_deinit(struct courses *courses);
/* The courses from now on, with copies of their orders of shards, and their rates since the last
 * call. */
void courses_set(struct courses *courses, const struct course_order *orders, unsigned count,
		 uint64_t now_ns);
/* One more course, until it is among those of courses_set(). Nothing, where there are too many. */
void courses_add(struct courses *courses, const struct course_order *order);
/* Note that the owner's course shows the sample at this ordinal now. */
void courses_show(struct courses *courses, const void *owner, uint64_t ordinal, uint64_t now_ns);

/* Does a course show the sample soon, or did it just now? Soon is within COURSE_NEAR positions, or
 * in the window where it goes shard by shard. */
#define COURSE_NEAR 128
bool courses_near(struct courses *courses, uint64_t sample);

#define FORECAST_NEVER UINT64_MAX
struct forecast {
	unsigned count; /* of courses */
	uint64_t at_ns[COURSES_MAX];
};

/* Predict when each course shows the sample next. */
struct forecast forecast_make(struct courses *courses, uint64_t sample, uint64_t now_ns);
/* The first of these times, and how many there are before another one. */
uint64_t forecast_first(const struct forecast *forecast);
unsigned forecast_before(const struct forecast *forecast, uint64_t at_ns);

#endif
