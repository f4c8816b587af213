/* SPDX-License-Identifier: MIT */
/*
 * What a list of transforms does to the places and colours of one picture: the random ones drawn,
 * the ones that depend on the picture's size worked out, all of them as a list of plain steps.
 * Arithmetic on numbers only: no pixel, no memory of its own. A worker's thread.
 */
#ifndef STOKER_TRANSFORM_STEPS_H
#define STOKER_TRANSFORM_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/image.h"
#include "base/philox.h"
#include "transform/axis.h"
#include "transform/colour.h"
#include "transform/transform.h"
#include "transform/warp.h"

#define TRANSFORMS_MAX 60  /* of a list, with what they hold */
#define STEPS_MAX 254	    /* they are numbered by a byte */
#define STEPS_EDGE_MAX (1 << 24) /* of a picture in between: Pillow's box is float32 */

/* What is seen beside a picture, as in numpy.pad. */
enum border {
	BORDER_CONSTANT,
	BORDER_EDGE,
	BORDER_REFLECT,	  /* 3 2 1 0 1 2 3 */
	BORDER_SYMMETRIC, /* 2 1 0 0 1 2 */
};

enum step_kind {
	STEP_WINDOW, /* a part of the picture, or more than it: crop and pad */
	STEP_FLIP,
	STEP_RESIZE,
	STEP_WARP,
	STEP_COLOUR, /* places stay */
};

struct step_axis {
	int32_t in, out; /* pixels before and after */
	int32_t offset;	 /* WINDOW: its pixel i is the picture's pixel i + offset */
	bool flip;	 /* FLIP: this axis is turned round */
};

struct step {
	enum step_kind kind;
	enum filter filter;	  /* RESIZE */
	enum border border;	  /* WINDOW */
	uint8_t fill[3];	  /* WINDOW with BORDER_CONSTANT */
	struct step_axis axis[2]; /* x, y */
	union {
		struct warp warp;     /* WARP */
		struct colour colour; /* COLOUR */
	};
};

struct steps {
	int32_t size[2]; /* of the picture: width, height; after the steps so far */
	unsigned count;
	struct step step[STEPS_MAX]; /* the last one is never reached */
};

enum {
	STEPS_E_IMAGE = 1, /* a transform cannot take a picture of this size */
};

void steps_begin(struct steps *steps, int32_t width, int32_t height);

/* Add what `transform`, number `index` of its list, does to this picture; it holds no others.
 * 0 or GEOMETRY_E_IMAGE. */
int steps_draw_one(struct steps *steps, const struct transform *transform, unsigned index,
		 const struct draw_key *key, struct fault *fault);

/* Add what `count` entries of `list`, from `first` on, do to this picture: those that hold others
 * decide which of these, and in which order. 0 or GEOMETRY_E_IMAGE. */
int steps_draw(struct steps *steps, const struct transform *list, unsigned first,
		      unsigned count, const struct draw_key *key, struct fault *fault);

/*
 * Rewrite the steps for the same picture decoded at a 1st, half, 4th or 8th of its size, each edge
 * rounded up, and return which. The crop that the first resize takes of the picture decides: the
 * smallest of these that still has a pixel for each that the resize makes, on both axes. Its edges
 * are divided, outwards to whole pixels. Without a resize, or with more than crops before it, or
 * with one that reaches beside the picture: 1, and the steps stay.
 */
unsigned steps_shrink(struct steps *steps);

#endif
