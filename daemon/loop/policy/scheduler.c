// SPDX-License-Identifier: MIT
#include "loop/policy/scheduler.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "loop/server.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/user.h"

#define TURN_SCALE 100 /* the largest weight: so much a nanosecond, divided by the weight */
#define TURN_AVERAGE 8 /* samples that the average cost remembers */
/* Thread time that who had less than its share may catch up with: while others go without. */
#define TURN_CREDIT_NS 50000000u

static struct turn *turn_new(struct user *user, uint64_t stream)
{
	struct turn *turn = calloc(1, sizeof(*turn));
	if (!turn)
		return NULL;
	turn->user = user;
	turn->stream = stream;
	turn->weight = TURN_WEIGHT;
	list_init(&turn->in_line);
	list_init(&turn->hungry);
	list_append(&user->turns, &turn->link);
	return turn;
}

int turn_get(struct turn **out, struct server *server, uid_t uid, uint64_t stream)
{
	struct user *user = user_get(server, uid);
	if (!user)
		return -ENOMEM;
	struct turn *turn = NULL;
	list_for_each(known, next, &user->turns, struct turn, link)
		if (known->stream == stream)
			turn = known;
	if (!turn)
		turn = turn_new(user, stream);
	if (!turn) {
		user_put(user);
		return -ENOMEM;
	}
	turn->readers++;
	*out = turn;
	return 0;
}

static void turn_check(struct turn *turn)
{
	struct user *user = turn->user;
	if (turn->readers > 0 || turn->queued > 0)
		return;
	assert(list_empty(&turn->hungry));
	list_remove(&turn->link);
	list_remove(&turn->in_line);
	free(turn);
	user_put(user);
}

void turn_put(struct turn *turn)
{
	assert(turn->readers > 0);
	turn->readers--;
	turn_check(turn);
}

static void turn_not_before(uint64_t *virtual_time, uint64_t others)
{
	if (*virtual_time < others)
		*virtual_time = others;
}

static void turn_not_far_behind(uint64_t *virtual_time, uint64_t others, uint64_t credit)
{
	turn_not_before(virtual_time, others > credit ? others - credit : 0);
}

static uint64_t turn_price(const struct turn *turn, uint64_t ns)
{
	return ns * TURN_SCALE / turn->weight;
}

void turn_enter(struct reader *reader)
{
	struct server *server = reader->ring->server;
	struct turn *turn = reader->turn;
	struct user *user = turn->user;
	if (!list_empty(&reader->in_hungry))
		return;
	list_append(&turn->hungry, &reader->in_hungry);
	if (!list_empty(&turn->in_line))
		return;
	list_append(&user->hungry, &turn->in_line);
	turn_not_before(&turn->virtual_time, user->turns_time);
	if (!list_empty(&user->in_line))
		return;
	list_append(&server->hungry, &user->in_line);
	turn_not_before(&user->virtual_time, server->virtual_time);
}

void turn_leave(struct reader *reader)
{
	list_remove(&reader->in_hungry);
}

/* It would take another batch: what is made is announced at once, so the next one is not. */
static bool turn_waits(const struct reader *reader)
{
	return reader->leased < reader->inflight;
}

/* Does anybody in this line wait? Brings its weight up to date. */
static bool turn_look(struct turn *turn)
{
	bool waits = false;
	turn->weight = 1;
	list_for_each(reader, next, &turn->hungry, struct reader, in_hungry) {
		if (reader->priority > turn->weight)
			turn->weight = reader->priority;
		waits = waits || turn_waits(reader);
	}
	return waits;
}

/* Of a user's streams with a reader that waits, or of all if none has one, the one furthest
 * behind. */
static struct turn *turn_of_user(struct user *user, bool *waits_out)
{
	struct turn *first = NULL;
	*waits_out = false;
	list_for_each(turn, next, &user->hungry, struct turn, in_line) {
		if (list_empty(&turn->hungry)) {
			list_remove(&turn->in_line);
			continue;
		}
		bool waits = turn_look(turn);
		turn_not_far_behind(&turn->virtual_time, user->turns_time,
				    turn_price(turn, TURN_CREDIT_NS));
		if (waits < *waits_out)
			continue;
		if (!first || waits > *waits_out || turn->virtual_time < first->virtual_time)
			first = turn;
		*waits_out = waits;
	}
	return first;
}

/* And so of the users that may order. */
static struct turn *turn_first(struct server *server, bool *waits_out)
{
	struct turn *first = NULL;
	*waits_out = false;
	list_for_each(user, next, &server->hungry, struct user, in_line) {
		bool waits;
		struct turn *turn = turn_of_user(user, &waits);
		if (!turn) {
			list_remove(&user->in_line);
			continue;
		}
		if (user_full(server, user)) {
			turn_not_before(&user->virtual_time, server->virtual_time);
			continue;
		}
		turn_not_far_behind(&user->virtual_time, server->virtual_time, TURN_CREDIT_NS);
		if (waits < *waits_out)
			continue;
		if (!first || waits > *waits_out || user->virtual_time < first->user->virtual_time)
			first = turn;
		*waits_out = waits;
	}
	return first;
}

static bool ring_behind(const struct ring *ring, const struct ring *other)
{
	uint64_t epoch = ring->base / ring->stride, others = other->base / other->stride;
	if (epoch != others)
		return epoch < others;
	return ring->base % ring->stride < other->base % other->stride;
}

static bool turn_counts(const struct reader *reader, bool waits)
{
	return !waits || turn_waits(reader);
}

/* Who on this ring had no turn for longest. Not who has least ahead: of readers of small batches
 * that is always one, and who needs many samples for a batch would never have them. */
static struct reader *turn_on_ring(const struct turn *turn, bool waits, const struct ring *ring)
{
	list_for_each(reader, next, &turn->hungry, struct reader, in_hungry)
		if (reader->ring == ring && turn_counts(reader, waits))
			return reader;
	return NULL;
}

/* Of two turns one is the hindmost ring's: what it makes, others have made before, so the sooner it
 * meets them the less is made twice. The other is for all the rest, for nobody shall starve for
 * that: for one ring after the other, and every second time for who has waited longest for a batch,
 * since a batch of many samples takes as many turns. */
static struct reader *turn_reader(const struct turn *turn, bool waits)
{
	struct ring *hindmost = NULL, *rest = NULL;
	struct reader *longest = NULL;
	list_for_each(reader, next, &turn->hungry, struct reader, in_hungry)
		if (turn_counts(reader, waits) &&
		    (!hindmost || ring_behind(reader->ring, hindmost)))
			hindmost = reader->ring;
	if (turn->count % 2 == 0)
		return turn_on_ring(turn, waits, hindmost);
	list_for_each(reader, after, &turn->hungry, struct reader, in_hungry) {
		if (!turn_counts(reader, waits) || reader->ring == hindmost)
			continue;
		if (!rest || reader->ring->turn < rest->turn)
			rest = reader->ring;
		if (!longest || reader->wait.wants_since_ns < longest->wait.wants_since_ns)
			longest = reader;
	}
	if (!rest)
		return turn_on_ring(turn, waits, hindmost);
	return waits && turn->count % 4 == 1 ? longest : turn_on_ring(turn, waits, rest);
}

struct reader *turn_next(struct server *server)
{
	bool waits;
	struct turn *turn = turn_first(server, &waits);
	if (!turn)
		return NULL;
	turn_not_before(&turn->user->turns_time, turn->virtual_time);
	turn_not_before(&server->virtual_time, turn->user->virtual_time);
	struct reader *reader = turn_reader(turn, waits);
	reader->ring->turn = ++server->turns;
	return reader;
}

static void turn_take(struct turn *turn, uint64_t ns)
{
	turn->virtual_time += turn_price(turn, ns);
	turn->user->virtual_time += ns;
}

static void turn_give_back(struct turn *turn, uint64_t ns)
{
	uint64_t price = turn_price(turn, ns), *users = &turn->user->virtual_time;
	turn->virtual_time -= price < turn->virtual_time ? price : turn->virtual_time;
	*users -= ns < *users ? ns : *users;
}

void turn_charge(struct turn *turn)
{
	turn_take(turn, turn->cost_ns);
	turn->count++;
	turn->queued++;
	turn->user->queued++;
}

static void turn_back(struct turn *turn)
{
	assert(turn->queued > 0 && turn->user->queued >= turn->queued);
	turn->queued--;
	turn->user->queued--;
	turn_check(turn);
}

/* What was charged was the average of then; it differs little from that of now. */
void turn_settle(struct turn *turn, uint64_t work_ns)
{
	if (work_ns > turn->cost_ns)
		turn_take(turn, work_ns - turn->cost_ns);
	else
		turn_give_back(turn, turn->cost_ns - work_ns);
	if (turn->cost_ns == 0) /* the first */
		turn->cost_ns = work_ns;
	turn->cost_ns += work_ns / TURN_AVERAGE;
	turn->cost_ns -= turn->cost_ns / TURN_AVERAGE;
	turn_back(turn);
}

void turn_refund(struct turn *turn)
{
	turn_give_back(turn, turn->cost_ns);
	turn_back(turn);
}
