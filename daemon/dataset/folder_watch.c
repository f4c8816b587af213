// SPDX-License-Identifier: MIT
#include "dataset/folder_watch.h"

#include <errno.h>
#include <stdalign.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "dataset/ending.h"
#include "storage/local_watch.h"

#define FOLDERS_MOST 16384 /* of some 10^5 watches that a user has for all programs */

void folder_watch_init(struct folder_watch *watch)
{
	*watch = (struct folder_watch){.inotify = -1, .changes = 1};
}

void folder_watch_deinit(struct folder_watch *watch)
{
	int inotify = atomic_exchange(&watch->inotify, -1);
	if (inotify >= 0)
		close(inotify);
}

void folder_watch_break(struct folder_watch *watch)
{
	atomic_store(&watch->broken, true);
}

/* Get the descriptor of inotify, which the first call makes; -1: the kernel gives none. */
static int folder_watch_open(struct folder_watch *watch)
{
	int inotify = atomic_load(&watch->inotify), none = -1;
	if (inotify >= 0)
		return inotify;
	inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (inotify >= 0 && !atomic_compare_exchange_strong(&watch->inotify, &none, inotify)) {
		close(inotify);
		return none;
	}
	return inotify;
}

void folder_watch_add(struct folder_watch *watch, const struct storage_folder *root,
		      const char *key)
{
	if (atomic_load(&watch->broken))
		return;
	int inotify = folder_watch_open(watch);
	int number = inotify < 0 ? inotify : local_watch(root, key, inotify);
	if (number < 0 || number > FOLDERS_MOST)
		folder_watch_break(watch);
}

/* Note whether a picture's file was written in place; lost events may have been such. */
static void folder_watch_take(struct folder_watch *watch, const struct inotify_event *event)
{
	bool write = event->mask & (IN_MODIFY | IN_CLOSE_WRITE);
	if ((event->mask & IN_Q_OVERFLOW) || (write && event->len && ending_is_image(event->name)))
		atomic_store(&watch->written, true);
}

/* Read events, not all at once; false: there is none. */
static bool folder_watch_read(struct folder_watch *watch)
{
	alignas(struct inotify_event) char events[4096];
	int inotify = atomic_load(&watch->inotify);
	ssize_t size = inotify < 0 ? 0 : read(inotify, events, sizeof(events));
	if (size <= 0)
		return false;
	for (const char *at = events; at < events + size;) {
		const struct inotify_event *event = (const void *)at;
		folder_watch_take(watch, event);
		at += sizeof(*event) + event->len;
	}
	atomic_fetch_add(&watch->changes, 1);
	return true;
}

uint64_t folder_watch_begin(struct folder_watch *watch)
{
	while (folder_watch_read(watch))
		;
	return atomic_load(&watch->changes);
}

void folder_watch_end(struct folder_watch *watch, uint64_t begun)
{
	atomic_store(&watch->calm, begun);
}

bool folder_watch_is_calm(struct folder_watch *watch)
{
	return !atomic_load(&watch->broken) && !folder_watch_read(watch) &&
	       atomic_load(&watch->calm) == atomic_load(&watch->changes);
}
