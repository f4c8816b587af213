/* SPDX-License-Identifier: MIT */
/*
 * The list of bad samples, for `stokerctl bad`: which samples could not be read or decoded, of
 * which dataset, and how often. It outlives the datasets, because people ask when a run is over,
 * and drops the oldest entry beyond BAD_SAMPLES_MAX. Loop thread; knows nothing of the loop.
 */
#ifndef STOKER_LOOP_STATE_BAD_SAMPLES_H
#define STOKER_LOOP_STATE_BAD_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/list.h"

#define BAD_SAMPLES_MAX 1000

struct bad_samples {
	struct list list; /* struct bad_sample, ids rising */
	unsigned count;
	uint64_t last_id;
};

struct bad_sample {
	struct list link;
	uint64_t id;
	uint64_t dataset, sample, count;
	char *root, *path; /* of the dataset; of the sample within it */
	unsigned code;	   /* an error_code */
	struct fault fault;
};

void bad_samples_init(struct bad_samples *bad);
void bad_samples_deinit(struct bad_samples *bad);
/* Count once more that this sample of a dataset is bad. `true` if it was not on the list yet. */
bool bad_samples_note(struct bad_samples *bad, const struct bad_sample *seen);

#endif
