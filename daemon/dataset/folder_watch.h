/* SPDX-License-Identifier: MIT */
/*
 * Changes that the kernel tells of: whether anything happened in the folders of a dataset since
 * they were looked at, so that an attach need not look again. Any thread, but for init and deinit.
 *
 * It says "nothing happened" only where that is sure: not where a folder cannot be watched, nor
 * before the first look, nor between an event and the next look that finds all as it was.
 */
#ifndef STOKER_DATASET_FOLDER_WATCH_H
#define STOKER_DATASET_FOLDER_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct storage_folder;

struct folder_watch {
	atomic_int inotify;	/* -1: nothing is watched yet; owned */
	atomic_bool broken;	/* something cannot be watched */
	atomic_bool written;	/* to a picture's file, in place */
	_Atomic uint64_t stirs; /* goes up with what happens ... */
	_Atomic uint64_t calm;	/* ... and was this at the last look that found all as it was */
};

void folder_watch_init(struct folder_watch *watch);
void folder_watch_deinit(struct folder_watch *watch);
void folder_watch_break(struct folder_watch *watch); /* something of it cannot be watched */

/* A folder beneath an opened one belongs to it, from now on. Blocks. */
void folder_watch_add(struct folder_watch *watch, const struct storage_folder *root,
		      const char *key);
/* Begin to look: what happened until now is over. Gives what folder_watch_end() takes. */
uint64_t folder_watch_begin(struct folder_watch *watch);
void folder_watch_end(struct folder_watch *watch, uint64_t begun); /* all was as before */
/* Is it sure that nothing happened since? Does not block. */
bool folder_watch_is_calm(struct folder_watch *watch);

#endif
