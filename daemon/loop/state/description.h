/* SPDX-License-Identifier: MIT */
/*
 * The description of a stream as the daemon keeps it: the law's argument as one value. Made once,
 * of an ATTACH as it was understood: defaults filled in, numbers in their row's type, the subset
 * cut to the dataset, what has no effect at its default, transforms as their hash has them.
 *
 * What differs in the digest of `bytes` is other data; within one entry of the catalog, which
 * stands for the place, what differs in `stream` is another stream. Loop thread.
 */
#ifndef STOKER_LOOP_STATE_DESCRIPTION_H
#define STOKER_LOOP_STATE_DESCRIPTION_H

#include "base/digest.h"
#include "proto/value.h"

struct dataset_entry;
struct pipeline;
struct stream_order;

struct description {
	/* Msgpack, owned. All fields, as an ATTACH can have them; and those that tokens have, with
	 * the digest of its table for the sampler, so that they are short. */
	struct text whole, bytes;
	struct digest digest; /* of `bytes` */
	struct digest stream; /* of `bytes` and the fields of the stream alone */
};
#define DESCRIPTION_NULL ((struct description){0})

/* `said`: a map of fields as the client said them, for those that neither `order` nor the pipeline
 * has; may be empty. 0 or -ENOMEM. */
int description_make(struct description *out, struct text said, const struct dataset_entry *entry,
		     const struct pipeline *pipeline, const struct stream_order *order);
void description_deinit(struct description *description);

#endif
