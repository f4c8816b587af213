/* SPDX-License-Identifier: MIT */
/*
 * A rank's share of an epoch: which positions its batches are. With batch size b and world size W
 * the global batch is B = W * b; entered at position P, batch j of rank r is the positions
 * [P + j*B + r*b, + b). An epoch is entered at 0, with LAST_WRAP where the last batch of the one
 * before ended. Pure arithmetic; knows no ring, no client.
 *
 * With buckets an epoch is runs of R positions, a multiple of B, and a batch lies in one run. Of a
 * run that has fewer samples the last global batch that has any is dropped, padded, or (LAST_SHORT)
 * dealt to all ranks evenly: each gets as many, and the last ones of the batch may be padding. What
 * is behind it in the run is skipped. P is where a global batch ends with its run.
 */
#ifndef STOKER_LOOP_STATE_SHARE_H
#define STOKER_LOOP_STATE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

enum last_batch {
	LAST_SHORT, /* cut at the epoch's end */
	LAST_DROP,  /* a global batch that is not whole is left out, for all ranks */
	LAST_PAD,   /* filled up with the epoch's first positions */
	LAST_WRAP,  /* filled up with the next epoch's first positions, which that goes on behind */
};

struct bucket_order;

struct share {
	uint64_t n; /* positions of an epoch, > 0 */
	uint64_t batch_size, rank, world;
	enum last_batch last;
	const struct bucket_order *buckets; /* the stream's; NULL: it has none */
};

/* Positions may reach beyond n: position p then stands for p mod n with LAST_PAD, and for p - n of
 * the next epoch with LAST_WRAP. With buckets they do not: padding has positions of its own. */
struct batch_span {
	uint64_t position;
	uint64_t count, padded, wrapped;
};

/* A sample of the stream. */
struct place {
	uint64_t epoch, position;
};

/* A place in the endless sequence of a reader's batches. */
struct cursor {
	uint64_t epoch;
	uint64_t origin; /* where the epoch was entered */
	uint64_t batch;	 /* j */
};

uint64_t share_global_batch(const struct share *share);
/* Can an epoch be entered there, so that no batch lies in two runs? Always, without buckets. */
bool share_may_enter(const struct share *share, uint64_t origin);
/* There, or else where the run of it begins. */
uint64_t share_entry(const struct share *share, uint64_t origin);
/* Batches that this rank gets of an epoch entered at `origin` (<= n; with buckets 0). */
uint64_t share_batches(const struct share *share, uint64_t origin);
/* Distance of the beginnings of epochs in a ring made for this share: so that batches do not wrap
 * round the ring's end; with LAST_WRAP n, so that a batch that runs into the next epoch is one run,
 * too. */
uint64_t share_stride(const struct share *share, uint64_t origin);
/* Distance where nobody else reads: with LAST_DROP without room for what this share leaves out. */
uint64_t share_stride_alone(const struct share *share, uint64_t origin);
/* Can it live on a ring where epochs begin so far apart? */
bool share_fits(const struct share *share, uint64_t origin, uint64_t stride);
/* Move to the first epoch at or after the cursor's that has a batch for this rank. The caller made
 * sure that a whole epoch has one. */
void share_settle(const struct share *share, struct cursor *cursor);
struct batch_span share_span(const struct share *share, const struct cursor *cursor);
/* The sample at a position of a batch of this epoch. */
struct place share_place(const struct share *share, uint64_t epoch, uint64_t position);
/* The ordinal (see ring.h) of a batch's first sample, where epochs begin `stride` apart. */
uint64_t share_ordinal(const struct share *share, const struct cursor *cursor, uint64_t stride);
/* Is this position in one of the batches from the cursor's on, up to those of epoch `end`? */
bool share_has(const struct share *share, const struct cursor *cursor, uint64_t end, uint64_t epoch,
	       uint64_t position);
void share_advance(const struct share *share, struct cursor *cursor);
/* Find where a run resumes that has used the batch at `cursor`: any rank, any world size. */
void share_resume(const struct share *share, const struct cursor *cursor, uint64_t *epoch_out,
		  uint64_t *position_out);

#endif
