/* SPDX-License-Identifier: MIT */
/*
 * A task: work that may block (indexing a dataset, making a ring, reading or writing indexes), run
 * on one of libuv's threads and followed by a call on the loop thread. Embedded in what the work
 * is about; list_entry() finds that again. All functions are called on the loop thread, but `run`.
 */
#ifndef STOKER_LOOP_OS_TASK_H
#define STOKER_LOOP_OS_TASK_H

#include <uv.h>

/* Where tasks run, and how many of them have not called back. */
struct task_queue {
	uv_loop_t *loop;
	unsigned pending;
};

struct task {
	uv_work_t work;
	struct task_queue *queue;
	void (*run)(struct task *task); /* libuv's thread; may block */
	/* Loop thread: it has run (0), or could not (a negative errno). May free the task. */
	void (*done)(struct task *task, int status);
};

/* 0 or a negative errno; `done` is called exactly once if it is 0, never from inside this. */
int task_start(struct task *task, struct task_queue *queue, void (*run)(struct task *task),
	       void (*done)(struct task *task, int status));

#endif
