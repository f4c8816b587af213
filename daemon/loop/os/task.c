// SPDX-License-Identifier: MIT
#include "loop/os/task.h"

static void task_run(uv_work_t *work)
{
	struct task *task = work->data;
	task->run(task);
}

static void task_done(uv_work_t *work, int status)
{
	struct task *task = work->data;
	task->queue->pending--;
	task->done(task, status);
}

int task_start(struct task *task, struct task_queue *queue, void (*run)(struct task *task),
	       void (*done)(struct task *task, int status))
{
	task->work.data = task;
	task->queue = queue;
	task->run = run;
	task->done = done;
	int r = uv_queue_work(queue->loop, &task->work, task_run, task_done);
	if (r < 0)
		return r;
	queue->pending++;
	return 0;
}
