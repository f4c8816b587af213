// SPDX-License-Identifier: MIT
#include "dataset/folders/folder_trees.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/thread_group.h"
#include "storage/local_watch.h"

#define BEHIND_NICE 10	/* workers have 5 */
#define AHEAD 64	/* trees that are held at a time */
#define THREADS_MOST 16 /* for a server */
#define THREADS_FAR 64	/* for a file system of other machines, or of a program: NFS, FUSE */
#define THREADS_NEAR 8	/* for local files, where a processor is what there is to wait for */

struct folder_trees {
	struct folder_listing *listing;
	const struct folder_top *tops;
	uint64_t count;
	uint64_t taken;		    /* the last that was taken is this one less one */
	struct thread_group *group; /* NULL: each is listed when it is taken */
	pthread_mutex_t lock;	    /* of what follows, and of `taken` */
	pthread_cond_t changed;
	bool stopped;
	struct {
		struct folder_tree tree;
		bool listed;
	} slots[AHEAD]; /* tree i is in slot i % AHEAD */
};

static void list_tree(struct folder_trees *trees, uint64_t number)
{
	const struct folder_top *top = &trees->tops[number];
	(void)folder_tree_list(&trees->slots[number % AHEAD].tree, trees->listing, top->name,
			       top->id); /* the tree has its result */
}

/* a thread of the group */
static void list_ahead(void *context, uint64_t number)
{
	struct folder_trees *trees = context;
	pthread_mutex_lock(&trees->lock);
	/* Until the slot is free: the tree before it was taken, and the next one, too. */
	while (!trees->stopped && number >= AHEAD && number - AHEAD + 1 >= trees->taken)
		pthread_cond_wait(&trees->changed, &trees->lock);
	bool stopped = trees->stopped;
	pthread_mutex_unlock(&trees->lock);
	if (stopped)
		return;
	if (trees->listing->since_ns) /* behind the attach: readers go first */
		(void)setpriority(PRIO_PROCESS, (id_t)gettid(), BEHIND_NICE);
	list_tree(trees, number);
	pthread_mutex_lock(&trees->lock);
	trees->slots[number % AHEAD].listed = true;
	pthread_cond_broadcast(&trees->changed);
	pthread_mutex_unlock(&trees->lock);
}

static unsigned threads_for(const struct storage_folder *folder)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	if (local_is_far(folder))
		return THREADS_FAR;
	if (folder->storage->at_once > 1)
		return folder->storage->at_once < THREADS_MOST ? folder->storage->at_once
							       : THREADS_MOST;
	return processors < 1 ? 1 : processors < THREADS_NEAR ? (unsigned)processors : THREADS_NEAR;
}

int folder_trees_new(struct folder_trees **out, struct folder_listing *listing,
		     const struct folder_top *tops, uint64_t count)
{
	struct folder_trees *trees = calloc(1, sizeof(*trees));
	if (!trees)
		return -ENOMEM;
	trees->listing = listing;
	trees->tops = tops;
	trees->count = count;
	pthread_mutex_init(&trees->lock, NULL); /* neither can fail on Linux */
	pthread_cond_init(&trees->changed, NULL);
	unsigned threads = threads_for(listing->root);
	if (count > 1 && thread_group_begin(&trees->group, threads, count, list_ahead, trees) < 0)
		trees->group = NULL;
	*out = trees;
	return 0;
}

/* The tree that was taken last goes; its slot is free. */
static void let_go(struct folder_trees *trees)
{
	uint64_t last = trees->taken - 1;
	folder_tree_deinit(&trees->slots[last % AHEAD].tree);
	trees->slots[last % AHEAD].listed = false;
}

struct folder_tree *folder_trees_next(struct folder_trees *trees)
{
	uint64_t number = trees->taken;
	assert(number < trees->count);
	if (number > 0)
		let_go(trees);
	pthread_mutex_lock(&trees->lock);
	trees->taken = number + 1;
	pthread_cond_broadcast(&trees->changed);
	while (trees->group && !trees->slots[number % AHEAD].listed)
		pthread_cond_wait(&trees->changed, &trees->lock);
	pthread_mutex_unlock(&trees->lock);
	if (!trees->group) {
		list_tree(trees, number);
		trees->slots[number % AHEAD].listed = true;
	}
	return &trees->slots[number % AHEAD].tree;
}

void folder_trees_free(struct folder_trees *trees)
{
	if (!trees)
		return;
	pthread_mutex_lock(&trees->lock);
	trees->stopped = true;
	pthread_cond_broadcast(&trees->changed);
	pthread_mutex_unlock(&trees->lock);
	if (trees->group)
		thread_group_stop(trees->group);
	thread_group_end(trees->group);
	for (unsigned i = 0; i < AHEAD; i++)
		if (trees->slots[i].listed)
			folder_tree_deinit(&trees->slots[i].tree);
	pthread_cond_destroy(&trees->changed);
	pthread_mutex_destroy(&trees->lock);
	free(trees);
}
