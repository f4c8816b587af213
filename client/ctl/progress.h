/* SPDX-License-Identifier: MIT */
/*
 * Waiting for the REPORT of a long request (INDEX, FIT), with a line on stderr that shows its
 * progress.
 */
#ifndef STOKER_CTL_PROGRESS_H
#define STOKER_CTL_PROGRESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/ctl/control.h"

/* The answer to request `seq`. `show`: show the progress on stderr, a terminal; the line is removed
 * at the end. 0 or a negative errno, explained in control->fault. */
int progress_wait(struct control *control, uint32_t seq, bool show, json_t **values_out);

#endif
