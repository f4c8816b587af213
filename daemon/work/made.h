/* SPDX-License-Identifier: MIT */
/*
 * Made: what workers do with what the user's code made in a producer's tray. They copy it out
 * before they look at it, since a producer may change it at any time.
 *
 * Arrays are copied into the slot. A picture at a Map has two visits to a worker: the first makes
 * the picture that the code gets, and ends in JOB_AWAITS; the second takes the code's answer, a
 * binary PNM file (P5 or P6) or arrays, and makes the sample of it.
 */
#ifndef STOKER_WORK_MADE_H
#define STOKER_WORK_MADE_H

#include "work/kit.h"

/* Both set the outcome; JOB_AWAITS: a producer is needed first. */
void made_copy(struct job *job);
void made_map(struct job *job, struct sample_kit *kit);

#endif
