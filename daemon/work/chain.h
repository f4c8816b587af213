/* SPDX-License-Identifier: MIT */
/*
 * Chain: jobs that want the same sample. Its pixels are read or decoded once, as far as all of them
 * need them, and each job makes its own images of them. What happens to a bad sample is not known
 * here. Fetch threads read; workers render, and read where that is rare.
 */
#ifndef STOKER_WORK_CHAIN_H
#define STOKER_WORK_CHAIN_H

#include "work/kit.h"

/* Read an input of the chain's first job, for all: the sample, the sample that the jobs mix it with
 * if one does (all have the same), and the sample's mask if a job has that field. */
void chain_read(struct job *job, struct input *input, uint64_t sample,
		const struct draw_key *place);
void chain_read_partners(struct job *job);
void chain_read_mask(struct job *job, uint64_t sample);

/* Write the images of all jobs from `input`, and their masks, and set the outcomes. */
void chain_render(struct job *job, struct input *input, struct sample_kit *kit);

#endif
