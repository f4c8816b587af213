/* SPDX-License-Identifier: MIT */
/*
 * The transforms that change colours, as steps: their random numbers drawn, and which of colour.h's
 * changes these are. Knows no pixel. A worker's thread.
 */
#ifndef STOKER_TRANSFORM_COLOUR_DRAW_H
#define STOKER_TRANSFORM_COLOUR_DRAW_H

#include "transform/step.h"

steps_function colour_add_random, colour_add_grayscale, colour_add_jitter, colour_add_blur;

#endif
