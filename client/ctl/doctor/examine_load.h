/* SPDX-License-Identifier: MIT */
/*
 * `stokerctl doctor`, the work: what the readers wait for, how busy the threads are meanwhile, and
 * what would make it faster. From two STATUS and the list of readers.
 */
#ifndef STOKER_CTL_EXAMINE_LOAD_H
#define STOKER_CTL_EXAMINE_LOAD_H

#include <jansson.h>

#include "client/ctl/doctor/findings.h"

/* `seconds` lie between the two. */
void examine_load(struct findings *findings, const json_t *before, const json_t *after,
		  double seconds, const json_t *readers);

#endif
