/* SPDX-License-Identifier: MIT */
/*
 * The making of a sampler, which may walk all labels of a dataset: on a thread of libuv's, while
 * who asked for it waits here. Loop thread.
 */
#ifndef STOKER_LOOP_ENGINE_SAMPLER_TASK_H
#define STOKER_LOOP_ENGINE_SAMPLER_TASK_H

#include "work/sampler.h"

struct dataset_entry;
struct sampling;

/* Called once, unless the sampling was given up before; takes the sampler over. */
typedef void sampling_done(void *context, int result, struct sampler *sampler,
			   const struct fault *fault);

/* Begin to make it for the open `entry`, which is held meanwhile. Takes the spec over, in any case.
 * 0 or a negative errno. */
int sampling_begin(struct sampling **out, struct dataset_entry *entry, struct sampler_spec *spec,
		   uint64_t max_bytes, sampling_done *done, void *context);
/* Nobody waits any more. */
void sampling_give_up(struct sampling *sampling);

#endif
