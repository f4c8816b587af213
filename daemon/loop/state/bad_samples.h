/* SPDX-License-Identifier: MIT */
/*
 * The list of bad samples, for `stokerctl bad`: what could not be read or decoded, in which
 * dataset, how often. It outlives the datasets, since people ask when a run is over, and forgets
 * the oldest beyond BAD_MAX. Loop thread.
 */
#ifndef STOKER_LOOP_STATE_BAD_SAMPLES_H
#define STOKER_LOOP_STATE_BAD_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/list.h"

struct dataset_entry;
struct server;

#define BAD_MAX 1000

struct bad {
	struct list link; /* in server->bad, ids rising */
	uint64_t id;
	uint64_t dataset, sample, count;
	char *root, *path; /* of the dataset; of the sample within it */
	unsigned code;	   /* an error_code */
	struct fault fault;
};

/* Note one more time that a sample is bad. `true` if it was not on the list. */
bool bad_note(const struct dataset_entry *entry, uint64_t sample, unsigned code,
	      const struct fault *fault);
void bad_clear(struct server *server);

#endif
