/* SPDX-License-Identifier: MIT */
/*
 * Made: samples of what the user's code made (supply.h): arrays, which are copied into the slot, or
 * at a Map a picture, a binary PNM file (P5 or P6), which the transforms behind it go on with. What
 * a Map's code gets is made here, too.
 */
#ifndef STOKER_WORK_MADE_H
#define STOKER_WORK_MADE_H

#include "work/kit.h"

/* As chain_render(), with purpose_copy and purpose_map. JOB_AWAITS: a producer is needed first. */
void made_render(struct job *job, struct input *input, struct sample_kit *kit);

#endif
