// SPDX-License-Identifier: MIT
#include "loop/state/auto_threads.h"

#include <stdio.h>

#define SECOND ((uint64_t)1000000000)
#define SETTLE_NS (3 * SECOND)	/* a change shows in what is measured after it */
#define STEADY_NS (10 * SECOND) /* between two changes where nobody waits */
#define PATIENCE_FIRST 30	/* s */
#define PATIENCE_MOST 600
#define WAITS_MUCH 0.15
#define WAITS_LITTLE 0.02
#define WAITS_AGAIN 0.08 /* removing a thread was a mistake: readers waited this much */
#define BUSY 0.8
#define SPARE 0.6 /* a thread goes if the others would be at most so busy */
#define IDLE 0.5  /* of a processor */
#define GAIN 1.04 /* what more threads must give at least */

void auto_threads_init(struct auto_threads *threads, unsigned workers)
{
	*threads = (struct auto_threads){.seen = false};
	threads->number[AUTO_WORKERS].now = workers ? workers : 1;
	threads->number[AUTO_FETCHERS].now = AUTO_FETCHERS_FIRST;
	for (int i = 0; i < AUTO_ROLES; i++)
		threads->number[i].patience[0] = threads->number[i].patience[1] = PATIENCE_FIRST;
}

static void blend(double *smooth, double value, bool seen)
{
	*smooth = seen ? 0.5 * *smooth + 0.5 * value : value;
}

static void blend_all(struct auto_threads *threads, const struct auto_look *look)
{
	for (int i = 0; i < AUTO_ROLES; i++) {
		blend(&threads->smooth.waits[i], look->waits[i], threads->seen);
		blend(&threads->smooth.busy[i], look->busy[i], threads->seen);
	}
	blend(&threads->smooth.idle, look->idle, threads->seen);
	blend(&threads->smooth.samples, look->samples, threads->seen);
	threads->smooth.processors = look->processors;
	threads->making = look->samples > 0;
	threads->seen = true;
}

/* Do not go this way again for a while, the longer the more often it was in vain. */
static void hold(struct auto_number *number, bool up, uint64_t now_ns)
{
	number->hold_ns[up] = now_ns + number->patience[up] * SECOND;
	number->patience[up] *= 2;
	if (number->patience[up] > PATIENCE_MOST)
		number->patience[up] = PATIENCE_MOST;
}

static unsigned most(enum auto_role role, const struct auto_look *look)
{
	return role == AUTO_WORKERS ? look->processors : AUTO_FETCHERS_MOST;
}

/* Number of threads to add: 0 if there is no reason. */
static unsigned raise(enum auto_role role, const struct auto_number *number,
		      const struct auto_look *look, uint64_t now_ns)
{
	unsigned limit = most(role, look), step = number->now;
	bool room = role == AUTO_FETCHERS || look->idle > IDLE;
	if (look->waits[role] < WAITS_MUCH || look->busy[role] < BUSY || !room ||
	    now_ns < number->hold_ns[1] || number->now >= limit)
		return 0;
	if (role == AUTO_WORKERS && step > look->idle)
		step = (unsigned)look->idle;
	step = step ? step : 1;
	return number->now + step > limit ? limit - number->now : step;
}

/* Would one fewer do? Those of more than there are processors are one too many in any case. While
 * no samples are made, as between two epochs, nobody can tell. */
static bool can_lower(const struct auto_threads *threads, enum auto_role role, uint64_t now_ns)
{
	const struct auto_number *number = &threads->number[role];
	const struct auto_look *look = &threads->smooth;
	double load = look->busy[role] * number->now;
	if (role == AUTO_WORKERS && number->now > most(role, look))
		return true;
	return number->now > 1 && threads->making && look->waits[AUTO_WORKERS] < WAITS_LITTLE &&
	       look->waits[AUTO_FETCHERS] < WAITS_LITTLE && load < (number->now - 1) * SPARE &&
	       now_ns >= number->hold_ns[0] && now_ns >= number->settled_ns + STEADY_NS - SETTLE_NS;
}

static struct auto_change change(struct auto_threads *threads, enum auto_role role, int by,
				 uint64_t now_ns)
{
	struct auto_number *number = &threads->number[role];
	struct auto_change change = {.role = role, .before = number->now};
	number->now = (unsigned)((int)number->now + by);
	number->step = by;
	number->before = threads->smooth.samples;
	number->settled_ns = now_ns + SETTLE_NS;
	change.now = number->now;
	return change;
}

static const char *const what[] = {"decoding", "storage"};

/* Was the last change good? If not, it is taken back. */
static bool judge(struct auto_threads *threads, enum auto_role role, uint64_t now_ns,
		  struct auto_change *out)
{
	struct auto_number *number = &threads->number[role];
	const struct auto_look *smooth = &threads->smooth;
	int step = number->step;
	number->step = 0;
	if (step > 0 && smooth->samples < number->before * GAIN &&
	    smooth->waits[role] >= WAITS_MUCH) {
		double before = number->before;
		hold(number, true, now_ns);
		*out = change(threads, role, -step, now_ns);
		snprintf(out->why, sizeof(out->why),
			 "more did not help: %.0f samples a second, %.0f before", smooth->samples,
			 before);
	} else if (step < 0 && smooth->waits[role] > WAITS_AGAIN) {
		hold(number, false, now_ns);
		*out = change(threads, role, 1, now_ns);
		snprintf(out->why, sizeof(out->why),
			 "fewer were too few: readers wait for %s again", what[role]);
	} else {
		return false;
	}
	number->step = 0; /* what is taken back is not judged */
	return true;
}

static bool climb(struct auto_threads *threads, enum auto_role role, uint64_t now_ns,
		  struct auto_change *out)
{
	const struct auto_look *smooth = &threads->smooth;
	unsigned up = raise(role, &threads->number[role], smooth, now_ns);
	if (!up)
		return false;
	*out = change(threads, role, (int)up, now_ns);
	snprintf(out->why, sizeof(out->why),
		 "readers wait %.0f %% of their time for %s, %.1f processors are idle",
		 100 * smooth->waits[role], what[role], smooth->idle);
	return true;
}

static bool descend(struct auto_threads *threads, enum auto_role role, uint64_t now_ns,
		    struct auto_change *out)
{
	const double busy = threads->smooth.busy[role];
	if (!can_lower(threads, role, now_ns))
		return false;
	*out = change(threads, role, -1, now_ns);
	snprintf(out->why, sizeof(out->why), "nobody waits, and %.0f %% of their time is used",
		 100 * busy);
	return true;
}

struct auto_change auto_threads_look(struct auto_threads *threads, const struct auto_look *look,
				     const bool roles[AUTO_ROLES], uint64_t now_ns)
{
	static bool (*const ways[])(struct auto_threads *, enum auto_role, uint64_t,
				    struct auto_change *) = {judge, climb, descend};
	struct auto_change out = {.role = AUTO_WORKERS};
	blend_all(threads, look);
	for (int i = 0; i < AUTO_ROLES; i++)
		if (now_ns < threads->number[i].settled_ns)
			return out; /* what is measured is not yet of the last change */
	for (size_t way = 0; way < sizeof(ways) / sizeof(*ways); way++)
		for (int i = 0; i < AUTO_ROLES; i++)
			if (roles[i] && ways[way](threads, (enum auto_role)i, now_ns, &out))
				return out;
	return out;
}
