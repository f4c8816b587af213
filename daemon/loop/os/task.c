// SPDX-License-Identifier: MIT
#include "loop/os/task.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

/* -- threads ------------------------------------------------------------------------------ */

struct task_thread {
	struct task_queue *queue;
	struct task_lane *lane;
};

/* With the lock. The lane's next task, which now runs; NULL: there is none. */
static struct task *lane_take(struct task_lane *lane)
{
	if (list_empty(&lane->waiting))
		return NULL;
	struct task *task = list_entry(lane->waiting.next, struct task, link);
	list_remove(&task->link);
	list_append(&lane->running, &task->link);
	task->since_ns = clock_ns();
	return task;
}

static void lane_put_back(struct task_queue *queue, struct task_lane *lane, struct task *task)
{
	lane->stuck -= task->stuck;
	list_remove(&task->link);
	list_append(&queue->finished, &task->link);
}

/* With the lock. One that stood in for a stuck thread ends once that goes on. */
static bool lane_is_crowded(const struct task_lane *lane)
{
	return lane->threads - lane->stuck > TASK_THREADS;
}

static void *task_thread_run(void *argument)
{
	struct task_thread thread = *(struct task_thread *)argument;
	struct task_queue *queue = thread.queue;
	struct task_lane *lane = thread.lane;
	char name[16];
	free(argument);
	snprintf(name, sizeof(name), "task-%u", (unsigned)lane->uid);
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&queue->lock);
	for (struct task *task; !lane_is_crowded(lane) && (task = lane_take(lane));) {
		pthread_mutex_unlock(&queue->lock);
		task->run(task);
		pthread_mutex_lock(&queue->lock);
		lane_put_back(queue, lane, task);
		uv_async_send(&queue->finish);
	}
	lane->threads--;
	if (lane->threads == 0) { /* nobody waits in it */
		list_remove(&lane->link);
		free(lane);
	}
	if (--queue->threads == 0)
		pthread_cond_signal(&queue->ended);
	pthread_mutex_unlock(&queue->lock);
	return NULL;
}

/* With the lock. 0 or a negative errno. */
static int lane_start_thread(struct task_queue *queue, struct task_lane *lane)
{
	struct task_thread *thread = malloc(sizeof(*thread));
	pthread_attr_t detached;
	pthread_t handle;
	sigset_t all, before;
	if (!thread)
		return -ENOMEM;
	*thread = (struct task_thread){queue, lane};
	/* Only the loop thread receives signals. */
	sigfillset(&all);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = -pthread_create(&handle, &detached, task_thread_run, thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&detached);
	if (r < 0) {
		free(thread);
		return r;
	}
	lane->threads++;
	queue->threads++;
	return 0;
}

/* With the lock: one more thread, if one is needed and may be. */
static int lane_serve(struct task_queue *queue, struct task_lane *lane)
{
	if (list_empty(&lane->waiting) || lane->threads - lane->stuck >= TASK_THREADS ||
	    lane->threads >= TASK_THREADS_MAX)
		return 0;
	int r = lane_start_thread(queue, lane);
	return lane->threads ? 0 : r; /* else those that it has will come to it */
}

/* -- lanes -------------------------------------------------------------------------------- */

static struct task_lane *lane_get(struct task_queue *queue, enum task_kind kind, uid_t uid)
{
	list_for_each(known, next, &queue->lanes, struct task_lane, link)
		if (known->kind == kind && known->uid == uid)
			return known;
	struct task_lane *lane = calloc(1, sizeof(*lane));
	if (!lane)
		return NULL;
	lane->kind = kind;
	lane->uid = uid;
	list_init(&lane->waiting);
	list_init(&lane->running);
	list_append(&queue->lanes, &lane->link);
	return lane;
}

static void tasks_finished(uv_async_t *finish)
{
	struct task_queue *queue = finish->data;
	while (true) {
		struct task *task = NULL;
		pthread_mutex_lock(&queue->lock);
		if (!list_empty(&queue->finished)) {
			task = list_entry(queue->finished.next, struct task, link);
			list_remove(&task->link);
		}
		pthread_mutex_unlock(&queue->lock);
		if (!task)
			break;
		queue->pending--;
		task->done(task, 0);
	}
	if (queue->pending == 0)
		uv_unref((uv_handle_t *)finish);
}

int task_start(struct task *task, struct task_queue *queue, enum task_kind kind, uid_t uid,
	       void (*run)(struct task *task), void (*done)(struct task *task, int status))
{
	pthread_mutex_lock(&queue->lock);
	struct task_lane *lane = lane_get(queue, kind, uid);
	int r = lane ? 0 : -ENOMEM;
	if (lane) {
		*task = (struct task){.queue = queue, .lane = lane, .run = run, .done = done};
		list_append(&lane->waiting, &task->link);
		r = lane_serve(queue, lane);
	}
	if (lane && r < 0) {
		list_remove(&lane->link);
		free(lane);
	}
	pthread_mutex_unlock(&queue->lock);
	if (r < 0)
		return r;
	queue->pending++;
	uv_ref((uv_handle_t *)&queue->finish);
	return 0;
}

unsigned task_queue_look(struct task_queue *queue, uint64_t now_ns, uid_t *uid_out)
{
	unsigned stuck = 0;
	pthread_mutex_lock(&queue->lock);
	list_for_each(lane, next, &queue->lanes, struct task_lane, link) {
		list_for_each(task, after, &lane->running, struct task, link) {
			if (task->stuck || now_ns < task->since_ns + TASK_STUCK_NS)
				continue;
			task->stuck = true;
			lane->stuck++;
		}
		if (lane->stuck && stuck == 0)
			*uid_out = lane->uid;
		stuck += lane->stuck;
		while (!list_empty(&lane->waiting) && lane->threads < TASK_THREADS_MAX &&
		       lane->threads - lane->stuck < TASK_THREADS)
			if (lane_start_thread(queue, lane) < 0)
				break; /* again in a second */
	}
	pthread_mutex_unlock(&queue->lock);
	return stuck;
}

/* -- begin and end ------------------------------------------------------------------------ */

int task_queue_init(struct task_queue *queue, uv_loop_t *loop)
{
	*queue = (struct task_queue){.loop = loop};
	int r = uv_async_init(loop, &queue->finish, tasks_finished);
	if (r < 0)
		return r;
	queue->open = true;
	queue->finish.data = queue;
	uv_unref((uv_handle_t *)&queue->finish);
	pthread_mutex_init(&queue->lock, NULL); /* neither can fail on Linux */
	pthread_cond_init(&queue->ended, NULL);
	list_init(&queue->lanes);
	list_init(&queue->finished);
	return 0;
}

void task_queue_deinit(struct task_queue *queue)
{
	if (!queue->open)
		return;
	assert(queue->pending == 0);
	queue->open = false;
	pthread_mutex_lock(&queue->lock);
	while (queue->threads > 0) /* on their way out */
		pthread_cond_wait(&queue->ended, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
	pthread_cond_destroy(&queue->ended);
	pthread_mutex_destroy(&queue->lock);
	uv_close((uv_handle_t *)&queue->finish, NULL);
}
