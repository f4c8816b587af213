/* SPDX-License-Identifier: MIT */
/*
 * Bounding boxes of a picture, as x0, y0, x1, y1 in pixels from its upper left corner, and what a
 * transform may do to them but move them: torchvision v2's rules. A box that a rule drops becomes
 * NaN and keeps its place, so that what belongs to box i (a label, a mask) still does. Numbers
 * only; any thread.
 */
#ifndef STOKER_TRANSFORM_TRANSFORMS_DETECTION_BOX_H
#define STOKER_TRANSFORM_TRANSFORMS_DETECTION_BOX_H

#include <stdbool.h>
#include <stdint.h>

#define BOX_NUMBERS 4

enum box_format {
	BOX_XYXY,
	BOX_XYWH,   /* upper left corner, width and height */
	BOX_CXCYWH, /* the middle, width and height */
};

enum box_rule_kind {
	BOX_RULE_CENTRED,  /* 0, 0, 0, 0 if its middle is not within: left, top, right, bottom */
	BOX_RULE_FILLED,   /* dropped if it has no width or height */
	BOX_RULE_SANE,	   /* dropped if it is too small (least edge, least area) or reaches out */
	BOX_RULE_CLAMPED,  /* clipped to the picture */
	BOX_RULE_FORMATTED /* from then on given in a format: enum box_format */
};

struct box_rule {
	enum box_rule_kind kind;
	double number[BOX_NUMBERS];
};

/* The boxes of a picture while its steps are drawn: moved by its first `moved` steps. */
struct boxes {
	float *numbers; /* BOX_NUMBERS each; the caller's */
	uint32_t count;
	unsigned moved;
};
#define BOXES_NULL ((struct boxes){0})

/* Is its middle within left, top, right, bottom, and not on an edge? In float32, as torchvision. */
bool box_is_centred(const float box[BOX_NUMBERS], const float within[BOX_NUMBERS]);
/* Clip x to 0 to `end`; NaN stays NaN. */
double box_clip(double x, double end);
/* Apply a rule to a box of a picture of width x height; a format changes nothing. */
void box_rule_apply(const struct box_rule *rule, const int32_t size[2], double box[BOX_NUMBERS]);
/* Write a box in another format, in place. */
void box_convert(enum box_format format, double box[BOX_NUMBERS]);

#endif
