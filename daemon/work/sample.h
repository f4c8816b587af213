/* SPDX-License-Identifier: MIT */
/*
 * Sample: makes one from start to end, as the purpose of its job says, and handles what cannot be
 * read or decoded. Keeps no state, has no thread and no queue.
 */
#ifndef STOKER_WORK_SAMPLE_H
#define STOKER_WORK_SAMPLE_H

#include "work/kit.h"

int sample_kit_init(struct sample_kit *kit); /* 0 or -ENOMEM */
void sample_kit_deinit(struct sample_kit *kit);

/* Purposes of jobs. */
extern const struct purpose purpose_write;   /* write the slots of a chain */
extern const struct purpose purpose_copy;    /* write the arrays that a producer made */
extern const struct purpose purpose_map;     /* ... with the user's code amid the transforms */
extern const struct purpose purpose_index;   /* make the seek index of a file, decode no pixels */
extern const struct purpose purpose_measure; /* add the finished array to the recipe's moments */
extern const struct purpose purpose_warm;    /* keep the picture as decoded, where there is room */

/* Must bytes be read for it? If not, it goes to a worker at once. */
bool sample_needs_fetch(const struct job *job);
/* Fetch thread: read the inputs of the whole chain. A failure is kept for sample_make(). */
void sample_fetch(struct job *job);
/* Worker: do what the job is for, for the whole chain, and set the outcomes. Also reads
 * substitutes: they are rare, so a worker may wait for storage. */
void sample_make(struct job *job, struct sample_kit *kit);

/* Give back what sample_fetch() pinned, of a job that is not made after all. May be called twice.
 */
void sample_forget(struct job *job);

#endif
