/* SPDX-License-Identifier: MIT */
/*
 * A task: work that may block (indexing a dataset, making a ring, reading or writing indexes), run
 * on a thread and followed by a call on the loop thread. Embedded in what the work is about;
 * list_entry() finds that again. All functions are called on the loop thread, but `run`.
 *
 * Tasks of one kind and user stand in a lane of their own, which has TASK_THREADS threads at a
 * time: so nobody waits behind another user's dead mount, and no ring behind an opening. A task
 * that takes longer than TASK_STUCK_NS counts as stuck, and its lane gets one more thread, up to
 * TASK_THREADS_MAX. A thread ends when its lane is empty. Owns these threads; only
 * work/pool.c starts others that stay, and base/thread_group.c some for one piece of work.
 */
#ifndef STOKER_LOOP_OS_TASK_H
#define STOKER_LOOP_OS_TASK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/list.h"

#define TASK_THREADS 2
#define TASK_THREADS_MAX 8 /* of a lane, those that are stuck among them */
#define TASK_STUCK_NS ((uint64_t)5000000000u)

enum task_kind {
	TASK_OPENING, /* reads the user's files, or computes for the user */
	TASK_RING,    /* makes memory for the user */
	TASK_OWN,     /* the daemon's; its user is 0 */
};

/* Queue of the tasks that have not called back. */
struct task_queue {
	uv_loop_t *loop;
	unsigned pending;
	bool open;
	uv_async_t finish;
	pthread_mutex_t lock; /* of what follows, and of lanes */
	pthread_cond_t ended; /* the last thread */
	struct list lanes;    /* struct task_lane */
	struct list finished; /* struct task */
	unsigned threads;
};

struct task_lane {
	struct list link;
	enum task_kind kind;
	uid_t uid;
	struct list waiting, running; /* struct task */
	unsigned threads, stuck;
};

struct task {
	struct list link;
	struct task_queue *queue;
	struct task_lane *lane;
	uint64_t since_ns; /* it runs */
	bool stuck;
	void (*run)(struct task *task); /* a thread of its lane; may block */
	/* Loop thread: it has run (0), or could not (a negative errno). May free the task. */
	void (*done)(struct task *task, int status);
};

/* 0 or a negative errno: then it is as zero memory, which deinit accepts. */
int task_queue_init(struct task_queue *queue, uv_loop_t *loop);
/* No task may be pending. libuv still has a handle to close. May be called twice. */
void task_queue_deinit(struct task_queue *queue);

/* 0 or a negative errno; `done` is called exactly once if it is 0, never from inside this. */
int task_start(struct task *task, struct task_queue *queue, enum task_kind kind, uid_t uid,
	       void (*run)(struct task *task), void (*done)(struct task *task, int status));

/* Once a second: how many tasks are stuck, and of which user the first of them is. */
unsigned task_queue_look(struct task_queue *queue, uint64_t now_ns, uid_t *uid_out);

#endif
