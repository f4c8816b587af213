// SPDX-License-Identifier: MIT
#include "base/crew.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define STACK_BYTES ((size_t)512 << 10) /* a TLS handshake and a walk fit several times */

struct crew {
	crew_work *work;
	void *context;
	_Atomic uint64_t next;
	atomic_bool stopped;
	uint64_t count;
	unsigned threads;
	pthread_t handles[];
};

static void *crew_run(void *context)
{
	struct crew *crew = context;
	while (!atomic_load(&crew->stopped)) {
		uint64_t number = atomic_fetch_add(&crew->next, 1);
		if (number >= crew->count)
			break;
		crew->work(crew->context, number);
	}
	return NULL;
}

static int crew_start(struct crew *crew, unsigned threads)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int result = 0;
	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (unsigned i = 0; i < threads && !result; i++) {
		result = -pthread_create(&crew->handles[i], &attributes, crew_run, crew);
		crew->threads += !result;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return crew->threads ? 0 : result;
}

int crew_begin(struct crew **out, unsigned threads, uint64_t count, crew_work *work, void *context)
{
	if (threads > count)
		threads = (unsigned)count;
	threads = threads ? threads : 1;
	struct crew *crew = calloc(1, sizeof(*crew) + threads * sizeof(crew->handles[0]));
	if (!crew)
		return -ENOMEM;
	crew->work = work;
	crew->context = context;
	crew->count = count;
	int result = crew_start(crew, threads);
	if (result)
		free(crew);
	else
		*out = crew;
	return result;
}

void crew_stop(struct crew *crew)
{
	atomic_store(&crew->stopped, true);
}

void crew_end(struct crew *crew)
{
	if (!crew)
		return;
	for (unsigned i = 0; i < crew->threads; i++)
		pthread_join(crew->handles[i], NULL);
	free(crew);
}
