/* SPDX-License-Identifier: MIT */
/*
 * An opening of a dataset in progress: what it found, whether it shall end, and the memory that it
 * holds, which is charged to the user as it grows. One thread opens; others may read `found` and
 * set `cancel`.
 */
#ifndef STOKER_DATASET_PROGRESS_H
#define STOKER_DATASET_PROGRESS_H

#include <stdbool.h>

#include "base/fault.h"
#include "dataset/account.h"

struct dataset;
struct dataset_spec;
struct sources;
struct stage;

/* So many files are looked at in any case: of a folder that has no more, sizes are known, and it
 * has no fingerprint of names. */
#define DATASET_NAMES_ABOVE 4096

struct dataset_progress {
	_Atomic uint64_t found; /* samples so far */
	atomic_bool cancel;
	struct dataset_account *account; /* outlives the dataset; NULL: memory is not limited */
	const char *keep_folder; /* the daemon's own: indexes are kept there; NULL: nowhere */
	uint32_t keep_owner;	 /* base/owner.h */
	bool kept;		 /* there is one more, or a larger one */
	bool names;		 /* the names of a large folder will do: sizes may follow */
	struct stage *stage;	 /* where packed shards are unpacked; NULL: nowhere ... */
	unsigned stage_user;	 /* ... and who pays for that */
	uint64_t grown, added;	 /* charged */
	struct sources *sources; /* what it looks at is noted there; NULL: nowhere */
	/* dataset_open(), which sets it, for the parts of a joined dataset */
	int (*open_part)(struct dataset **out, const struct dataset_spec *spec,
			 struct dataset_progress *progress, struct fault *fault);
};

/* Charge what grows, which has `bytes` now; or `bytes` more, which are held to the opening's end. 0
 * or DATASET_E_OPEN. */
int dataset_progress_grown(struct dataset_progress *progress, uint64_t bytes, struct fault *fault);
int dataset_progress_add(struct dataset_progress *progress, uint64_t bytes, struct fault *fault);
/* Keep the charge of what grew, which has its end: something else begins to grow. */
void dataset_progress_next(struct dataset_progress *progress);
/* The opening has ended: give all of it back, and to the system if it was much. */
void dataset_progress_end(struct dataset_progress *progress);

#endif
