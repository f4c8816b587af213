/* SPDX-License-Identifier: MIT */
/*
 * Steps of one picture: the transforms as a list in which every random number is drawn and every
 * size is known. A transform appends its steps with the functions below; passes.c runs them.
 * Numbers only: no pixels, no memory of its own. A worker's thread.
 */
#ifndef STOKER_TRANSFORM_STEPS_H
#define STOKER_TRANSFORM_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/image.h"
#include "transform/axis.h"
#include "transform/colour.h"
#include "transform/transforms/detection/box.h"
#include "transform/warp.h"

#define STEPS_MAX 254		 /* they are numbered by a byte */
#define STEPS_EDGE_MAX (1 << 24) /* of a picture between two steps: Pillow's box is float32 */

/* The pixels that a window takes from outside of the picture, as in numpy.pad. */
enum border {
	BORDER_CONSTANT,
	BORDER_EDGE,
	BORDER_REFLECT,	  /* 3 2 1 0 1 2 3 */
	BORDER_SYMMETRIC, /* 2 1 0 0 1 2 */
};

enum step_kind {
	STEP_WINDOW, /* crop and pad: a part of the picture, or more than the picture */
	STEP_FLIP,
	STEP_RESIZE,
	STEP_WARP,
	STEP_COLOUR, /* pixels stay where they are */
	STEP_BOXES,  /* the picture stays as it is */
};

struct step_axis {
	int32_t in, out; /* pixels before and after */
	int32_t offset;	 /* WINDOW: its pixel i is the picture's pixel i + offset; RESIZE: as taken
			  */
	int32_t taken;	 /* RESIZE: makes `out` of so many pixels from offset on */
	bool flip;	 /* FLIP: this axis is reversed */
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
		struct box_rule rule; /* BOXES */
	};
};

struct steps {
	int32_t size[2];    /* width and height of the picture after the steps so far */
	bool pillow_13;	    /* resizes are as in Pillow 13: see step_rows_first() */
	size_t pixel_bytes; /* of a wide picture; 0: RGB bytes */
	unsigned index;	    /* of the list's first transform: its draws */
	struct boxes boxes; /* of the picture, for transforms that choose by them */
	struct rect crop;   /* that Buckets made, of the picture as they had resized it */
	unsigned count;
	struct step step[STEPS_MAX]; /* the last one is never used */
};

enum {
	STEPS_E_IMAGE = 1, /* a transform cannot take a picture of this size */
};

/* `pillow_13` and `index` are 0 then, and there are no boxes. */
void steps_begin(struct steps *steps, int32_t width, int32_t height);

/* Does a RESIZE make its pass along y first? Up to Pillow 12, none does; from Pillow 13 on, those
 * that shrink the height by more than twice what they shrink the width, in pixels. */
bool step_rows_first(const struct steps *steps, const struct step *step);

/*
 * Append a step. If there are too many, the last one is overwritten: steps_full() tells, and
 * steps_draw() then refuses the picture. The arguments `name` are the transform's, for messages.
 */
bool steps_full(const struct steps *steps);

struct step *steps_add_window(struct steps *steps, int32_t left, int32_t top, int32_t width,
			      int32_t height);
/* `padding` is left, top, right, bottom. 0 or STEPS_E_IMAGE. */
int steps_add_pad(struct steps *steps, const char *name, const double padding[4],
		  enum border border, const double fill[3], struct fault *fault);
void steps_add_flip(struct steps *steps, bool horizontal, bool vertical);
/* Sizes may be out of range, and need not be whole: they are truncated. 0 or STEPS_E_IMAGE. */
int steps_add_resize(struct steps *steps, const char *name, double width, double height,
		     enum filter filter, struct fault *fault);
/* Resize a part of the picture, as Pillow's box=. */
int steps_add_box_resize(struct steps *steps, const char *name, const struct rect *box,
			 double width, double height, enum filter filter, struct fault *fault);
/* The caller sets its kind and its matrix. */
struct warp *steps_add_warp(struct steps *steps, int32_t width, int32_t height,
			    struct warp_look look);
/* An affine warp to a picture of width x height. */
void steps_add_affine(struct steps *steps, int32_t width, int32_t height, const double matrix[6],
		      struct warp_look look);
/* Returns it, for amounts besides the first one. */
struct colour *steps_add_colour(struct steps *steps, colour_function *function, int32_t reach,
				double amount);

void steps_add_boxes(struct steps *steps, struct box_rule rule);

/* The message for a picture that would become too large; returns STEPS_E_IMAGE. */
int steps_say_large(const struct steps *steps, const char *name, struct fault *fault);

/*
 * Rewrite the steps for the same picture decoded at 1, 1/2, 1/4 or 1/8 of its size, each edge
 * rounded up, and return the divisor. The region that the first resize reads decides: the smallest
 * decoded picture is taken whose region has at least as many pixels as the resize makes, on both
 * axes. The region's edges are divided, outwards to whole pixels. If there is no resize, if other
 * steps than crops stand before it, or if a crop reaches outside of the picture: 1, no change.
 */
unsigned steps_shrink(struct steps *steps);

#endif
