/* SPDX-License-Identifier: MIT */
/*
 * Waiting for the REPORT of work that takes its time (INDEX, FIT), with a line on stderr that says
 * how far it is.
 */
#ifndef STOKER_CTL_PROGRESS_H
#define STOKER_CTL_PROGRESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/ctl/control.h"

/* The answer to request `seq`; `show`: stderr is a terminal for the line, which is gone in the end.
 * 0 or a negative errno, with words in control->fault. */
int progress_wait(struct control *control, uint32_t seq, bool show, json_t **values_out);

#endif
