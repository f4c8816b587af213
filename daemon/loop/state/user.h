/* SPDX-License-Identifier: MIT */
/*
 * Users and flows: who shares the workers, and how much worker time each has had.
 *
 * A user is whoever connected (the uid of SO_PEERCRED). A flow is one user's readers of one stream.
 * Both have a virtual clock, as in start-time fair queueing: worker time divided by the weight. The
 * scheduler (policy/scheduler.h) compares the clocks; here they are kept. All users weigh alike; a
 * flow weighs as much as the highest priority among its readers.
 *
 * A flow or user without a runnable reader is idle. When it is runnable again its clock is moved up
 * to the others', so that nobody saves credit while idle; and no clock stays more than 50 ms
 * behind.
 *
 * Loop thread; knows no job and no slot.
 */
#ifndef STOKER_LOOP_STATE_USER_H
#define STOKER_LOOP_STATE_USER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "loop/meter/wait_time.h"

struct user_keys;
struct reader;

#define FLOW_WEIGHT_DEFAULT 10 /* priority of a reader that does not say */
#define AHEAD_JOBS 128	       /* samples that are ordered ahead for a worker, at most */
#define USER_SERIES_MAX 64     /* readers of a user with series of their own in the metrics */

struct users {
	struct list all;       /* struct user */
	struct list runnable;  /* ... those with runnable flows */
	uint64_t virtual_time; /* the furthest clock of a user that was scheduled */
	uint64_t picks;	       /* how often a reader was scheduled */
	bool contended;	       /* several users have readers, as of users_refresh() ... */
	unsigned workers;      /* ... with so many workers ... */
	unsigned threads;      /* ... and fetchers together */
	unsigned share;	       /* ... and samples queued that one of these users may have */
};

struct user {
	uid_t uid;
	struct users *users;
	struct list link;	 /* in users->all */
	struct list in_runnable; /* in users->runnable, or empty */
	struct list flows;	 /* struct flow */
	struct list runnable;	 /* ... those with runnable readers */
	uint64_t flows_time;	 /* the furthest clock of a flow that was scheduled */
	uint64_t virtual_time;	 /* worker time it had, in ns */
	unsigned queued;	 /* samples ordered for it and not back */
	unsigned held;		 /* connections and flows: the last one out frees it */
	unsigned connections;	 /* on the data socket */
	unsigned in_flight; /* descriptors on their way to its clients: protocol/passed_fds.h */
	unsigned attached;  /* readers, and attachments on their way */
	unsigned series;    /* readers with series of their own in the metrics */
	struct {
		uint64_t delivered, wait_ns[WAIT_CAUSES];
	} gone; /* of readers without, which have left */
	/* Credentials that its clients sent, held: wiped with the last connection and the last
	 * dataset that was opened with them; NULL: none. */
	struct user_keys *user_keys;
};

struct flow {
	struct user *user;
	uint64_t stream;	 /* its id; queued samples may outlive the stream */
	struct list link;	 /* in user->flows */
	struct list in_runnable; /* in user->runnable, or empty */
	struct list
		runnable; /* struct reader with samples to order; the last scheduled at the end */
	uint64_t virtual_time; /* worker time it had, in ns at weight 100 */
	uint64_t cost_ns;      /* of a sample: moving average */
	unsigned weight;       /* ... */
	bool waits;	       /* ... of its runnable readers, as of users_refresh() */
	unsigned picks;	       /* how often it was scheduled */
	unsigned readers, queued;
	unsigned lent; /* samples that are with producers, or wait for one */
};

void users_init(struct users *users);

/* The user of this uid, found or made, held once more; NULL: no memory. */
struct user *user_get(struct users *users, uid_t uid);
struct user *user_find(const struct users *users, uid_t uid); /* NULL: nobody is connected */
void user_put(struct user *user);

/* The flow of this user's readers of a stream, found or made, for one more reader. 0 or -ENOMEM. */
int flow_get(struct flow **out, struct users *users, uid_t uid, uint64_t stream);
void flow_put(struct flow *flow); /* that reader is gone */

void flow_enter(struct reader *reader); /* it may have samples to order */
void flow_leave(struct reader *reader); /* it has none, or is gone */

/* Before the scheduler chooses: bring weights up to date, drop idle users and flows from the
 * runnable lists, limit credit. A user with `queued_max` samples queued (0: no limit) may not order
 * now; its clock keeps up with the others'. Nor may one, where other users have readers, who has
 * all workers but one at work on samples that take long: what has begun is not interrupted, and
 * whoever comes next shall find a worker. Nor, there, one who has a share of all that is ordered
 * ahead: what the next samples cost nobody knows. */
void users_refresh(struct users *users, unsigned queued_max, unsigned workers, unsigned fetchers);
/* The scheduler chose this reader. */
void flow_scheduled(struct reader *reader);
bool user_is_full(const struct user *user, unsigned queued_max);

/* A sample was ordered for this flow; it came back after so much worker time; or it was taken back
 * before anybody worked on it. */
void flow_charge(struct flow *flow);
void flow_settle(struct flow *flow, uint64_t work_ns);
void flow_refund(struct flow *flow);
/* A queued sample takes a producer: it is not queued, and the flow stays. It comes back to be
 * worked on, or it does not. */
void flow_lend(struct flow *flow);
void flow_take_back(struct flow *flow);
void flow_forgo(struct flow *flow);

#endif
