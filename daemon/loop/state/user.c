// SPDX-License-Identifier: MIT
#include "loop/state/user.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "storage/remote/user_keys.h"

#define FLOW_SCALE 100 /* the largest weight: a clock runs at scale / weight */
#define FLOW_AVERAGE 8 /* samples in the moving average of their cost */
/* Credit of a clock that is behind: so much worker time may be caught up with while others wait. */
#define FLOW_CREDIT_NS 50000000u
#define FLOW_LONG_NS 50000000u	  /* queued for each thread: others would wait for that */
#define FLOW_UNKNOWN_NS 20000000u /* of the first sample of a flow */

void users_init(struct users *users)
{
	*users = (struct users){0};
	list_init(&users->all);
	list_init(&users->runnable);
}

/* -- who there is ------------------------------------------------------------------------- */

struct user *user_find(const struct users *users, uid_t uid)
{
	list_for_each(known, next, &users->all, struct user, link)
		if (known->uid == uid)
			return known;
	return NULL;
}

struct user *user_get(struct users *users, uid_t uid)
{
	struct user *known = user_find(users, uid);
	if (known) {
		known->held++;
		return known;
	}
	struct user *user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	user->uid = uid;
	user->users = users;
	user->held = 1;
	list_init(&user->in_runnable);
	list_init(&user->flows);
	list_init(&user->runnable);
	list_append(&users->all, &user->link);
	return user;
}

void user_put(struct user *user)
{
	assert(user->held > 0);
	if (--user->held > 0)
		return;
	assert(list_empty(&user->flows) && user->connections == 0 && user->attached == 0);
	list_remove(&user->link);
	list_remove(&user->in_runnable);
	user_keys_drop(user->user_keys);
	free(user);
}

/* Takes over one hold of the user; NULL: no memory. */
static struct flow *flow_new(struct user *user, uint64_t stream)
{
	struct flow *flow = calloc(1, sizeof(*flow));
	if (!flow)
		return NULL;
	flow->user = user;
	flow->stream = stream;
	flow->weight = FLOW_WEIGHT_DEFAULT;
	list_init(&flow->in_runnable);
	list_init(&flow->runnable);
	list_append(&user->flows, &flow->link);
	return flow;
}

int flow_get(struct flow **out, struct users *users, uid_t uid, uint64_t stream)
{
	struct user *user = user_get(users, uid);
	struct flow *flow = NULL;
	if (!user)
		return -ENOMEM;
	list_for_each(known, next, &user->flows, struct flow, link)
		if (known->stream == stream)
			flow = known;
	if (flow) {
		user_put(user); /* the flow holds it already */
	} else {
		flow = flow_new(user, stream);
		if (!flow) {
			user_put(user);
			return -ENOMEM;
		}
	}
	flow->readers++;
	*out = flow;
	return 0;
}

static void flow_free_if_unused(struct flow *flow)
{
	struct user *user = flow->user;
	if (flow->readers > 0 || flow->queued > 0 || flow->lent > 0)
		return;
	assert(list_empty(&flow->runnable));
	list_remove(&flow->link);
	list_remove(&flow->in_runnable);
	free(flow);
	user_put(user);
}

void flow_put(struct flow *flow)
{
	assert(flow->readers > 0);
	flow->readers--;
	flow_free_if_unused(flow);
}

/* -- virtual clocks ----------------------------------------------------------------------- */

static void clock_not_before(uint64_t *virtual_time, uint64_t others)
{
	if (*virtual_time < others)
		*virtual_time = others;
}

static void clock_limit_credit(uint64_t *virtual_time, uint64_t others, uint64_t credit)
{
	clock_not_before(virtual_time, others > credit ? others - credit : 0);
}

static uint64_t flow_price(const struct flow *flow, uint64_t ns)
{
	return ns * FLOW_SCALE / flow->weight;
}

void flow_enter(struct reader *reader)
{
	struct flow *flow = reader->flow;
	struct user *user = flow->user;
	if (!list_empty(&reader->in_runnable))
		return;
	list_append(&flow->runnable, &reader->in_runnable);
	if (!list_empty(&flow->in_runnable))
		return;
	list_append(&user->runnable, &flow->in_runnable);
	clock_not_before(&flow->virtual_time, user->flows_time);
	if (!list_empty(&user->in_runnable))
		return;
	list_append(&user->users->runnable, &user->in_runnable);
	clock_not_before(&user->virtual_time, user->users->virtual_time);
}

/* Take the reader out of its flow, which stays in line until the next refresh: a reader that leaves
 * and enters again at once, as one does for each sample, loses no credit. */
void flow_leave(struct reader *reader)
{
	list_remove(&reader->in_runnable);
}

static void flow_refresh(struct flow *flow)
{
	if (list_empty(&flow->runnable)) {
		list_remove(&flow->in_runnable);
		return;
	}
	flow->weight = 1;
	flow->waits = false;
	list_for_each(reader, next, &flow->runnable, struct reader, in_runnable) {
		if (reader->priority > flow->weight)
			flow->weight = reader->priority;
		flow->waits |= reader_has_credit(reader);
	}
	clock_limit_credit(&flow->virtual_time, flow->user->flows_time,
			   flow_price(flow, FLOW_CREDIT_NS));
}

void users_refresh(struct users *users, unsigned queued_max, unsigned workers, unsigned fetchers)
{
	unsigned reading = 0;
	list_for_each(someone, then, &users->all, struct user, link)
		reading += someone->attached > 0;
	users->contended = reading > 1;
	users->workers = workers;
	users->threads = workers + fetchers;
	users->share = AHEAD_JOBS * workers / (reading + 1);
	if (users->share < 2 * users->threads) /* so that no thread waits */
		users->share = 2 * users->threads;
	list_for_each(user, next, &users->runnable, struct user, in_runnable) {
		list_for_each(flow, after, &user->runnable, struct flow, in_runnable)
			flow_refresh(flow);
		if (list_empty(&user->runnable))
			list_remove(&user->in_runnable);
		else if (user_is_full(user, queued_max))
			clock_not_before(&user->virtual_time, users->virtual_time);
		else
			clock_limit_credit(&user->virtual_time, users->virtual_time,
					   FLOW_CREDIT_NS);
	}
}

void flow_scheduled(struct reader *reader)
{
	struct flow *flow = reader->flow;
	struct user *user = flow->user;
	clock_not_before(&user->flows_time, flow->virtual_time);
	clock_not_before(&user->users->virtual_time, user->virtual_time);
	reader->ring->picked = ++user->users->picks;
}

/* Worker time queued for the user. */
static uint64_t user_queued_ns(const struct user *user)
{
	uint64_t ns = 0;
	list_for_each(flow, next, &user->flows, struct flow, link)
		ns += flow->queued * (flow->cost_ns ? flow->cost_ns : FLOW_UNKNOWN_NS);
	return ns;
}

bool user_is_full(const struct user *user, unsigned queued_max)
{
	const struct users *users = user->users;
	unsigned workers = users->workers > 1 ? users->workers - 1 : 1;
	if (queued_max && user->queued >= queued_max)
		return true;
	if (users->contended && user->queued >= users->share)
		return true;
	return users->contended && user->queued >= workers &&
	       user_queued_ns(user) > FLOW_LONG_NS * (uint64_t)users->threads;
}

/* -- samples ------------------------------------------------------------------------------ */

static void flow_take(struct flow *flow, uint64_t ns)
{
	flow->virtual_time += flow_price(flow, ns);
	flow->user->virtual_time += ns;
}

static void flow_give_back(struct flow *flow, uint64_t ns)
{
	uint64_t price = flow_price(flow, ns), *of_user = &flow->user->virtual_time;
	flow->virtual_time -= price < flow->virtual_time ? price : flow->virtual_time;
	*of_user -= ns < *of_user ? ns : *of_user;
}

void flow_charge(struct flow *flow)
{
	flow_take(flow, flow->cost_ns);
	flow->picks++;
	flow->queued++;
	flow->user->queued++;
}

static void flow_back(struct flow *flow)
{
	assert(flow->queued > 0 && flow->user->queued >= flow->queued);
	flow->queued--;
	flow->user->queued--;
	flow_free_if_unused(flow);
}

/* Settle the charge, which was the average at that time and differs little from that of now. */
void flow_settle(struct flow *flow, uint64_t work_ns)
{
	if (work_ns > flow->cost_ns)
		flow_take(flow, work_ns - flow->cost_ns);
	else
		flow_give_back(flow, flow->cost_ns - work_ns);
	if (flow->cost_ns == 0) /* the first */
		flow->cost_ns = work_ns;
	flow->cost_ns += work_ns / FLOW_AVERAGE;
	flow->cost_ns -= flow->cost_ns / FLOW_AVERAGE;
	flow_back(flow);
}

void flow_refund(struct flow *flow)
{
	flow_give_back(flow, flow->cost_ns);
	flow_back(flow);
}

void flow_lend(struct flow *flow)
{
	flow->lent++;
	flow_refund(flow);
}

void flow_take_back(struct flow *flow)
{
	flow_charge(flow);
	flow->lent--;
}

void flow_forgo(struct flow *flow)
{
	assert(flow->lent > 0);
	flow->lent--;
	flow_free_if_unused(flow);
}
