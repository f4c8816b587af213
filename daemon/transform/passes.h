/* SPDX-License-Identifier: MIT */
/*
 * Passes over the pixels of one picture, which run its steps. A pass is one step that makes pixels
 * (a filtered resize, a warp, a change of colours) and the steps behind it that only move them;
 * pass 0 makes none. Most lists are one pass: pass 0 is a plain crop of the picture, which costs
 * nothing, and the last pass writes the slot. Colours are changed in place, unless the pixels are
 * the caller's or the change looks at neighbours.
 *
 * passes_plan() goes backwards, from the result to the part of the picture that is needed, and
 * makes all tables; passes_run() then only moves pixels. Owns the tables and the intermediate
 * pictures and keeps them for the next picture, unless they have become large. One worker's.
 */
#ifndef STOKER_TRANSFORM_PASSES_H
#define STOKER_TRANSFORM_PASSES_H

#include <stdbool.h>

#include "base/cancel.h"
#include "base/cpu.h"
#include "base/fault.h"
#include "base/image.h"
#include "transform/axis_map.h"
#include "transform/output.h"
#include "transform/resample.h"
#include "transform/row_copy.h"
#include "transform/steps.h"

struct pass {
	const struct step *make; /* NULL for pass 0 */
	unsigned first, end;	 /* the steps behind it */
	int32_t size[2];	 /* of its whole result */
	struct span window[2];	 /* the wanted part of it */
	struct span made[2];	 /* the part of `make`'s result that this takes */
	struct axis_map map[2];
	struct axis axis[2];
	bool rows_first; /* a RESIZE: its pass along y */
	uint64_t work;
};

struct passes {
	enum cpu cpu;
	bool chosen; /* `cpu` is known */
	unsigned count;
	uint64_t work;		   /* of all passes: pixels times the pixels that each is made of */
	struct buffer pictures[2]; /* intermediate ones, used alternately */
	struct buffer *held;	   /* which of them has the current picture; NULL: the caller's */
	struct buffer lines;	   /* of a resample, or a row */
	struct row_copy copy;	   /* of the current pass */
	struct pass pass[STEPS_MAX + 1];
};

/* Limit of the work on one picture: some seconds of one core, whatever the list. */
#define PASSES_WORK_MAX ((uint64_t)1 << 32)

enum {
	PASS_E_IMAGE = 1, /* an intermediate picture would be too large */
	PASS_E_WORK,	  /* it would take more than PASSES_WORK_MAX */
	PASS_E_STOPPED,	  /* by `cancel`: the array is not whole */
};

/* `steps` are borrowed until the next plan. 0, PASS_E_IMAGE, PASS_E_WORK or -ENOMEM. */
int passes_plan(struct passes *passes, const struct steps *steps, int32_t width, int32_t height,
		struct rect *need_out, struct fault *fault);
/* `cancel`: NULL, or what stops it between rows. 0, PASS_E_STOPPED or -ENOMEM. */
int passes_run(struct passes *passes, const struct steps *steps, const struct image *image,
	       const struct output *output, void *array, struct cancel *cancel);
/* Free what is large of their memory; a run ends so. */
void passes_trim(struct passes *passes);
void passes_deinit(struct passes *passes);

#endif
