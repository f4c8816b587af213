/* SPDX-License-Identifier: MIT */
/*
 * Warm: what an INDEX with transforms asks for: an index task (engine/index_task.h) whose jobs keep
 * each picture as decoded, in memory and on the disk, as far as there is room; at the scale that a
 * stream of these transforms with draft would take, which without is always 1. Nothing of
 * the same user gives way to it. Loop thread; knows no session.
 */
#ifndef STOKER_LOOP_ENGINE_WARM_H
#define STOKER_LOOP_ENGINE_WARM_H

#include <stdbool.h>

#include "base/fault.h"

struct dataset_entry;
struct job;
struct job_recipe;
struct pipeline;

enum {
	WARM_E_REFUSED = 1, /* with words */
};

/* The dataset is open: `recipe` gets what makes its jobs keep the pictures. The pipeline stays the
 * caller's. 0, WARM_E_REFUSED or -ENOMEM. */
int warm_open(struct pipeline *pipeline, const struct dataset_entry *entry,
	      struct job_recipe *recipe, struct fault *fault);
/* Is it known what is on the disk already? */
bool warm_may_begin(const struct job_recipe *recipe);
/* A job is back; have so many in a row not been kept that there is no room for more? */
bool warm_is_over(unsigned *missed, const struct job *job);

#endif
