/* SPDX-License-Identifier: MIT */
/*
 * `stokerctl fit`: have the daemon work out statistics of a dataset, with a line on stderr that
 * says how far it is, and tell what they are. Who leaves before the end ends the work, but for
 * eigenvectors: those are sought and kept all the same.
 */
#ifndef STOKER_CTL_FIT_H
#define STOKER_CTL_FIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "client/ctl/control.h"

struct fit {
	const char *dataset;
	const char *transforms, *name, *rescale, *epsilon; /* NULL: the daemon's choice */
	bool per_pixel, zca;
};

/* Ask for it and wait until it is done; `show`: stderr is a terminal for the line. 0 or a negative
 * errno, with words in control->fault. */
int fit_run(struct control *control, const struct fit *fit, bool show, json_t **values_out);
void fit_print(FILE *file, const json_t *values);

#endif
