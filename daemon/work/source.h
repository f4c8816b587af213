/* SPDX-License-Identifier: MIT */
/*
 * Source: where the pixels of a sample come from. The kinds, in the order in which they are tried:
 *
 *	ARRAY	pixels of a dataset that is an array in memory
 *	KEPT	a decoded picture in memory (cache/picture_cache.h), pinned
 *	STORED	a decoded picture on the disk (store/picture_store.h)
 *	FILE	the bytes of an image file: of the rewritten one, where one is kept, or the sample's
 *
 * A fetch thread calls source_read(); a worker then begins the source in its decoder and reads
 * pixels by decode.h alone, whatever the kind. FILE is decoded by its content. Each other kind has
 * a row of struct codec, selected by the kind and never by bytes; those of ARRAY and KEPT lend
 * memory in place of copying it. Pixels that a user's process supplies would be one more kind, with
 * a row of its own. No transform is known here.
 */
#ifndef STOKER_WORK_SOURCE_H
#define STOKER_WORK_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/fault.h"
#include "base/image.h"
#include "base/stamp.h"
#include "decode/decode.h"
#include "store/keeper.h"
#include "transform/pipeline.h"
#include "work/outcome.h"
#include "work/supply.h"

struct job_recipe;
struct stage_reads;

enum source_kind { SOURCE_FILE, SOURCE_KEPT, SOURCE_STORED, SOURCE_ARRAY };

struct source {
	enum source_kind kind;
	struct buffer bytes; /* FILE: what was read; owned */
	struct buffer lent;  /* FILE: what a producer made, in its place; the supply's */
	bool rewritten;	     /* FILE: it is a rewritten one */
	/* KEPT: the pixels. FILE: the rewritten file in memory, in place of `bytes`. Pinned. */
	struct cached_picture *picture;
	struct stamp stamp;	  /* of the sample's file */
	size_t bytes_read;	  /* of the sample's own file; 0 where something was kept */
	enum job_outcome outcome; /* JOB_DONE, or why nothing could be read, ... */
	struct fault fault;	  /* ... in words */
};

/* One input of a job: a sample, and where its pixels come from. */
struct input {
	uint64_t sample;
	struct draw_key place; /* where it stands: what its code draws depends on that */
	struct supply *supply; /* of the job: what producers have made for it */
	int64_t label;	       /* of a dataset of kind code: as it came with the bytes */
	struct source source;
};

/* Find what is kept of the sample, else read its file, or what a producer made of it, and set the
 * outcome: JOB_AWAITS, if that is not made yet. `pixels`: KEPT and STORED will do. Counts staged
 * reads in `reads`. May be called again. Blocks on storage. */
void source_read(struct input *input, const struct job_recipe *recipe, uint64_t sample, bool pixels,
		 struct stage_reads *reads);
/* Read the file of the sample's mask. */
void source_read_mask(struct input *input, const struct job_recipe *recipe, uint64_t sample,
		      struct stage_reads *reads);
/* Give back what is pinned; the bytes stay. May be called twice. */
void source_release(struct source *source);
void source_deinit(struct source *source);

/* The bytes of a FILE. */
const struct buffer *source_bytes(const struct source *source);
/* The key of what is kept of it, once it was read. */
struct picture_key source_key(const struct input *input, const struct job_recipe *recipe);

/* State of the source that a decoder has begun; one for each decoder. */
struct source_view {
	struct kept_view kept;
	struct image array;
	bool floats; /* the uint16 numbers of the array are to be float32 */
};

/* Are files read as wide pixels? Then nothing that is kept of them will do, nor is it kept. */
bool source_is_wide(const struct job_recipe *recipe);

/* Begin it in the decoder: read its size. The input stays as it is until decoder_end(). `limits`
 * are for a FILE. 0, a condition of decode.h or -ENOMEM. After DECODE_E_GONE, which decoder_read()
 * may return, too, source_read() without `pixels` gives a source that will do. */
int source_begin(struct source_view *view, struct decoder *decoder, const struct job_recipe *recipe,
		 const struct input *input, const struct decode_limits *limits, int32_t *width_out,
		 int32_t *height_out, struct fault *fault);

#endif
