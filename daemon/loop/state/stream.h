/* SPDX-License-Identifier: MIT */
/*
 * A stream: dataset + pipeline + seeds + sampler, an endless sequence of epochs of n positions.
 * Readers that ask for the same share it. Owns its pipeline, holds its dataset, lists its rings.
 * Loop thread; workers read its recipe.
 *
 * Streams of the same samples in the same order that differ in transforms or draws, as in a sweep
 * over augmentations, share decodes (policy/decode_sharing.h): at each position they show one
 * picture. They are linked with each other.
 */
#ifndef STOKER_LOOP_STATE_STREAM_H
#define STOKER_LOOP_STATE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "loop/state/description.h"
#include "loop/state/stream_order.h"
#include "sampler/sampler.h"
#include "work/job.h"

struct bucket_form;
struct code;
struct core;
struct dataset_entry;

struct stream {
	uint64_t id;
	struct core *core;
	struct list link;    /* in core->streams */
	struct list sharing; /* the streams that share decodes with it: a circle without a head */
	bool alone; /* it shares none, nor do its echoes: the user's code makes each for its place
		     */
	struct dataset_entry *entry;
	struct pipeline *pipeline;
	struct stream_order order;
	struct description description;
	struct job_recipe recipe;
	struct list rings;
	unsigned users; /* attachments, readers, rings; the last one out frees it */

	uint64_t decoded, delivered;
	uint64_t stage_hits, stage_misses; /* reads that cache-dir had, and had not */
	uint64_t rate_base;		   /* `delivered` at the last tick */
	double rate;			   /* samples a second, smoothed */
};

/* The stream of this description, found or made. Takes `pipeline`, the order's sampler, map and the
 * description over in any case, holds `entry`. 0 or -ENOMEM. */
int stream_get(struct stream **out, struct core *core, struct dataset_entry *entry,
	       struct pipeline *pipeline, const struct stream_order *order,
	       struct description *description);
struct stream *stream_hold(struct stream *stream);
void stream_put(struct stream *stream);
/* The stream with this number, if it is this user's; else NULL, of which STREAM_NONE is the
 * message: nobody learns which numbers others have. */
struct stream *stream_of_user(const struct core *core, uint64_t id, uid_t uid);
#define STREAM_NONE "no stream %llu is read by this user: stokerctl streams lists them all"

/* The user's code in it, if that is known to make a sample otherwise each time: then nobody else
 * shares the stream. Else NULL. */
const struct code *stream_inexact(const struct stream *stream);

/* Bytes of its sampler's table, which counts as memory of rings. */
uint64_t stream_table_bytes(const struct stream_order *order);
/* Positions of an epoch. */
uint64_t stream_positions(const struct stream_order *order);
/* Hash sampler, echo, views and the order "shards" for a resume token: false if there are none of
 * them. */
bool stream_order_hash(const struct stream_order *order, struct digest *out);
/* The place (see job_sample()) of the sample at a position, which may lie beyond the epoch:
 * padding, and whose draws it has. */
uint64_t stream_entry(const struct stream *stream, uint64_t epoch, uint64_t position,
		      struct draw_key *key_out);
/* The form of the sample at a position; NULL: all have one. */
const struct bucket_form *stream_form(const struct stream *stream, uint64_t epoch,
				      uint64_t position);
/* The order of its buckets; NULL: it has none. */
const struct bucket_order *stream_buckets(const struct stream *stream);
/* The sizes that its batches have, as ATTACHED says them; empty: they have one. */
struct text stream_sizes(const struct stream *stream);
/* Positions of a run, which share one size; 1: there are no buckets. */
uint64_t stream_run(const struct stream *stream);
/* The positions of the epoch that echo this one's sample, itself among them: `echo` in all. */
void stream_echoes(const struct stream *stream, uint64_t epoch, uint64_t position,
		   uint64_t out[JOB_SHARERS_MAX]);
/* As stream_entry(), of a sample that it is joined with, `number` 1 to 3: positions 2 i and 2 i + 1
 * are a pair, 4 i to 4 i + 3 a group of four, and those that the end of an epoch lacks are the
 * sample itself. */
uint64_t stream_partner(const struct stream *stream, uint64_t epoch, uint64_t position,
			uint32_t number, struct draw_key *key_out);

#endif
