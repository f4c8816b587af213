/* SPDX-License-Identifier: MIT */
/*
 * `stokerctl index`: have the daemon look at each file of a dataset, with a line on stderr that
 * says how far it is, and tell what came of it. Who leaves before the end ends the work.
 */
#ifndef STOKER_CTL_INDEX_H
#define STOKER_CTL_INDEX_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "client/ctl/control.h"

/* Ask for it and wait until it is done; `show`: stderr is a terminal for the line. 0 or a negative
 * errno, with words in control->fault. */
int index_build(struct control *control, const char *path, bool show, json_t **values_out);
void index_print(FILE *file, const json_t *values);

#endif
