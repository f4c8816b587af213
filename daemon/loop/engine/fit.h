/* SPDX-License-Identifier: MIT */
/*
 * Fits: statistics of a dataset (statistics/statistics.h), worked out for a FIT, whose way to the
 * files visit.c is, and what the daemon has of them. They stay in memory, a few of them, under the
 * dataset's fingerprint and their name; with a shelf (index-dir) also on the disk, from where they
 * come back when the dataset is opened. Loop thread, but for fit_load().
 *
 * What a fit needs while it runs is charged to dataset-memory; one whitens at a time.
 */
#ifndef STOKER_LOOP_ENGINE_FIT_H
#define STOKER_LOOP_ENGINE_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

struct dataset;
struct dataset_entry;
struct fit;
struct job_recipe;
struct message_fit;
struct packer;
struct pipeline;
struct server;
struct statistics;

enum {
	FIT_E_REFUSED = 1, /* with words and an error's number */
};

/* 0, FIT_E_REFUSED or -ENOMEM. */
int fit_new(struct fit **out, struct server *server, const struct message_fit *message,
	    unsigned *code_out, struct fault *fault);
/* The dataset is open: `recipe` gets what makes its jobs add up. As above. */
int fit_open(struct fit *fit, const struct dataset *dataset, struct job_recipe *recipe,
	     unsigned *code_out, struct fault *fault);
/* All jobs are back: work it out in a thread. False: it cannot be; else fit_done is called. */
typedef void fit_done(void *context, int result, const struct fault *fault);
bool fit_solve(struct fit *fit, fit_done *done, void *context);
void fit_pack(const struct fit *fit, struct packer *packer, const struct dataset_entry *entry,
	      uint64_t unread, double seconds);
/* Is a thread in LAPACK, for a minute maybe? A stop leaves it there. */
bool fit_seeks(const struct server *server);
void fit_free(struct fit *fit); /* NULL is none */

/* What the list asks for, once it is settled: by name or digest. 0, FIT_E_REFUSED (which says what
 * to do) or -ENOMEM. */
int fit_take(const struct server *server, const struct dataset *dataset, struct pipeline *pipeline,
	     struct fault *fault);
/* Any thread: what is kept of a dataset on the disk; then, on the loop's, into memory. */
void fit_load(struct statistics **out, const struct server *server, const struct dataset *dataset);
void fit_keep_loaded(struct server *server, struct statistics *loaded);
void fit_clear(struct server *server);

#endif
