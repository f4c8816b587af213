// SPDX-License-Identifier: MIT
#include "base/thread_group.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define STACK_BYTES ((size_t)512 << 10) /* a TLS handshake and a walk fit several times */

struct thread_group {
	thread_group_work *work;
	void *context;
	_Atomic uint64_t next;
	atomic_bool stopped;
	uint64_t count;
	unsigned threads;
	pthread_t handles[];
};

static void *thread_group_run(void *context)
{
	struct thread_group *group = context;
	while (!atomic_load(&group->stopped)) {
		uint64_t number = atomic_fetch_add(&group->next, 1);
		if (number >= group->count)
			break;
		group->work(group->context, number);
	}
	return NULL;
}

static int thread_group_start(struct thread_group *group, unsigned threads)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int result = 0;
	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (unsigned i = 0; i < threads && !result; i++) {
		result = -pthread_create(&group->handles[i], &attributes, thread_group_run, group);
		group->threads += !result;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return group->threads ? 0 : result;
}

int thread_group_begin(struct thread_group **out, unsigned threads, uint64_t count,
		       thread_group_work *work, void *context)
{
	if (threads > count)
		threads = (unsigned)count;
	threads = threads ? threads : 1;
	struct thread_group *group =
		calloc(1, sizeof(*group) + threads * sizeof(group->handles[0]));
	if (!group)
		return -ENOMEM;
	group->work = work;
	group->context = context;
	group->count = count;
	int result = thread_group_start(group, threads);
	if (result)
		free(group);
	else
		*out = group;
	return result;
}

void thread_group_stop(struct thread_group *group)
{
	atomic_store(&group->stopped, true);
}

void thread_group_end(struct thread_group *group)
{
	if (!group)
		return;
	for (unsigned i = 0; i < group->threads; i++)
		pthread_join(group->handles[i], NULL);
	free(group);
}
