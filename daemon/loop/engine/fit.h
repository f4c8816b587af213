/* SPDX-License-Identifier: MIT */
/*
 * Fit: computes statistics of a dataset (statistics/statistics.h) for a FIT. An index task reads
 * the pictures and adds up their bytes; then a task on a thread of its own solves. The result goes
 * to the statistics store (state/statistics_store.h), and to the disk where there is an index
 * store. Loop thread.
 *
 * The memory that a fit needs while it runs is charged to the user's share of
 * dataset-memory; of a user's fits one at a time whitens.
 */
#ifndef STOKER_LOOP_ENGINE_FIT_H
#define STOKER_LOOP_ENGINE_FIT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/fault.h"

struct core;
struct dataset;
struct fit;
struct job_recipe;
struct pipeline;
struct statistics;
struct statistics_plan;

enum {
	FIT_E_REFUSED = 1, /* with words and an error's number */
};

/* The plan says what this user asks for, and the pipeline, which is taken over, of which pictures.
 * 0 or -ENOMEM. */
int fit_new(struct fit **out, struct core *core, uid_t uid, const struct statistics_plan *plan,
	    struct pipeline *pipeline);
void fit_free(struct fit *fit); /* NULL is none; no task may be under way */

/* The dataset is open: `recipe` gets what makes its jobs add up. 0, FIT_E_REFUSED or -ENOMEM. */
int fit_open(struct fit *fit, const struct dataset *dataset, struct job_recipe *recipe,
	     unsigned *code_out, struct fault *fault);
/* All jobs are back: solve in a task. False: no thread can be had; else `done` is called. */
typedef void fit_done(void *context, int result, const struct fault *fault);
bool fit_solve(struct fit *fit, fit_done *done, void *context);

/* Once it is solved: the statistics, the fit's, and whether they are on the disk. */
const struct statistics *fit_statistics(const struct fit *fit);
bool fit_is_kept(const struct fit *fit);

/* Count threads in LAPACK, which cannot be interrupted and may take a minute. A daemon that stops
 * does not wait for them. */
unsigned fits_uninterruptible(const struct core *core);

#endif
