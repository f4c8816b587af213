/* SPDX-License-Identifier: MIT */
/*
 * The folders in which the daemon keeps bytes, index-dir and cache-dir: whether it can. Loop
 * thread.
 */
#ifndef STOKER_LOOP_STATE_FOLDERS_H
#define STOKER_LOOP_STATE_FOLDERS_H

#include <stdbool.h>

#include "base/fault.h"

struct config;
struct pictures;
struct staging;

struct folder_report {
	bool off;	  /* the configuration names none, or leaves nothing to keep */
	bool refused;	  /* it cannot be had, or the last write failed */
	bool full;	  /* ... for want of room */
	struct fault why; /* of the last two */
};

/* `condition`: of the last write, or of opening it; 0: it went well. `full`: that was for want of
 * room. */
void folder_note(struct folder_report *report, int condition, bool full, const struct fault *why);
/* Report on cache-dir, from what its owners know. `opened`: why cache-dir could not be had, "" if
 * it was. */
struct folder_report folders_cache(const struct config *config, const struct fault *opened,
				   const struct pictures *pictures, const struct staging *staging);

#endif
