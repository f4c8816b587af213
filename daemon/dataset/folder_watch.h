/* SPDX-License-Identifier: MIT */
/*
 * Watch of a dataset's folders by inotify: says whether anything changed in them since they were
 * last looked at, so that an attach need not look again. Any thread, but for init and deinit.
 *
 * It says "calm" only if that is sure: never if a folder cannot be watched, nor before the first
 * look, nor between an event and the next look that finds everything unchanged.
 */
#ifndef STOKER_DATASET_FOLDER_WATCH_H
#define STOKER_DATASET_FOLDER_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct storage_folder;

struct folder_watch {
	atomic_int inotify;	  /* -1: nothing is watched yet; owned */
	atomic_bool broken;	  /* some folder cannot be watched */
	atomic_bool written;	  /* to a picture's file, in place */
	_Atomic uint64_t changes; /* goes up with each read of events */
	_Atomic uint64_t calm;	  /* value of `changes` at the last look that found all unchanged */
};

void folder_watch_init(struct folder_watch *watch);
void folder_watch_deinit(struct folder_watch *watch);
void folder_watch_break(struct folder_watch *watch); /* a folder cannot be watched: never calm */

/* Watch the folder `key` below an opened one from now on. Blocks. */
void folder_watch_add(struct folder_watch *watch, const struct storage_folder *root,
		      const char *key);
/* Begin a look at the folders, which will see all changes so far. Returns the argument of
 * folder_watch_end(). */
uint64_t folder_watch_begin(struct folder_watch *watch);
/* End a look that found everything unchanged. */
void folder_watch_end(struct folder_watch *watch, uint64_t begun);
/* Is it sure that nothing changed since the last such look? Does not block. */
bool folder_watch_is_calm(struct folder_watch *watch);

#endif
