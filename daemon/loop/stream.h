/* SPDX-License-Identifier: MIT */
/*
 * A stream: dataset + pipeline + seeds + sampler, an endless sequence of epochs of n positions. Two
 * readers that ask for the same share it. Owns its pipeline and its rings, holds its dataset. Loop
 * thread; its recipe is read by all workers.
 */
#ifndef STOKER_LOOP_STREAM_H
#define STOKER_LOOP_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "work/job.h"

struct server;
struct dataset_entry;

/* What makes two streams the same, beside dataset and pipeline. */
struct stream_order {
	bool shuffle;
	uint64_t order_seed, augment_seed;
	uint64_t first, count; /* samples of the dataset: [first, first + count) */
	bool substitute, exif;
};

struct stream {
	uint64_t id;
	struct server *server;
	struct list link; /* in server->streams */
	struct list kin;  /* streams that can share decodes, see kin.h */
	struct dataset_entry *entry;
	struct pipeline *pipeline;
	struct stream_order order;
	struct job_recipe recipe;
	struct list rings;
	unsigned users; /* attachments, readers, rings; the last one out frees it */

	uint64_t decoded, delivered;
	uint64_t rate_base; /* `delivered` at the last tick */
	double rate;	    /* samples a second, smoothed */
};

/* The stream of this description, found or made. Takes `pipeline` over in any case, holds `entry`.
 * 0 or -ENOMEM. */
int stream_get(struct stream **out, struct server *server, struct dataset_entry *entry,
	       struct pipeline *pipeline, const struct stream_order *order);
void stream_put(struct stream *stream);

/* The sample at a position (which may lie beyond the epoch: padding) and whose draws it has. */
uint64_t stream_sample(const struct stream *stream, uint64_t epoch, uint64_t position,
		       struct draw_key *key_out);

#endif
