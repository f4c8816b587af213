// SPDX-License-Identifier: MIT
#include "dataset/progress.h"

#include <inttypes.h>
#include <malloc.h>

#include "dataset/dataset.h"

#define PROGRESS_STEP ((uint64_t)1 << 16) /* what grows is charged in such steps */
#define PROGRESS_TRIM ((uint64_t)8 << 20) /* malloc() keeps no more of what is free */

static int progress_charge(struct dataset_progress *progress, uint64_t bytes, struct fault *fault)
{
	const struct dataset_account *full;
	if (dataset_account_take(progress->account, bytes, false, &full))
		return 0;
	return fault_say(fault, DATASET_E_OPEN,
			 "to open it takes more memory than %" PRIu64 " bytes, with what else this "
			 "user's datasets hold (a share of dataset-memory; %" PRIu64
			 " samples were found): detach other datasets, open a smaller one, or have "
			 "dataset-memory raised",
			 atomic_load(&full->limit), atomic_load(&progress->found));
}

int dataset_progress_grown(struct dataset_progress *progress, uint64_t bytes, struct fault *fault)
{
	if (bytes > progress->grown && bytes - progress->grown >= PROGRESS_STEP) {
		int r = progress_charge(progress, bytes - progress->grown, fault);
		if (r)
			return r;
		progress->grown = bytes;
	} else if (bytes < progress->grown) {
		dataset_account_give(progress->account, progress->grown - bytes, false);
		progress->grown = bytes;
	}
	return 0;
}

int dataset_progress_add(struct dataset_progress *progress, uint64_t bytes, struct fault *fault)
{
	int r = progress_charge(progress, bytes, fault);
	if (r == 0)
		progress->added += bytes;
	return r;
}

void dataset_progress_next(struct dataset_progress *progress)
{
	progress->added += progress->grown;
	progress->grown = 0;
}

void dataset_progress_end(struct dataset_progress *progress)
{
	uint64_t held = progress->grown + progress->added;
	dataset_account_give(progress->account, held, false);
	progress->grown = progress->added = 0;
	if (held > PROGRESS_TRIM)
		malloc_trim(0);
}
