/* SPDX-License-Identifier: MIT */
/*
 * `stokerctl cache WHAT DATASET`: pin and unpin; and warm: the daemon decodes the pictures of a
 * dataset and keeps them; a line on stderr shows the progress, and the result is printed. Ending
 * the command ends the work.
 */
#ifndef STOKER_CTL_WARM_H
#define STOKER_CTL_WARM_H

#include <jansson.h>
#include <stdio.h>

#include "client/ctl/control.h"

struct invocation;

/* Ask for it and wait until it is done. 0 or a negative errno, explained in control->fault. */
int warm_run(struct control *control, const struct invocation *invocation, json_t **values_out);
void warm_print(FILE *file, const json_t *values);

#endif
