/* SPDX-License-Identifier: MIT */
/*
 * What RandomAffine, RandomRotation and RandomPerspective do to one picture: drawn, and as a step.
 * The matrices are torchvision's and Pillow's. A worker's thread.
 */
#ifndef STOKER_TRANSFORM_WARP_DRAW_H
#define STOKER_TRANSFORM_WARP_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include "transform/step.h"

steps_function warp_add_affine, warp_add_rotation, warp_add_perspective;

/* How a warp makes its pixels, whatever it does to places. */
struct warp_look {
	enum filter filter;
	uint8_t fill[3];
};

struct warp_look warp_look(const struct parameter *filter, const struct parameter *fill);

/* A picture of the same size from the places that six numbers give. */
void warp_add_matrix(struct steps *steps, const double matrix[6], struct warp_look look);
/* Turned about its middle by so many degrees, against the clock, in its own size: as Pillow does
 * it, with no pixel made anew where none has to be. */
void warp_add_turn(struct steps *steps, double degrees, struct warp_look look);

#endif
