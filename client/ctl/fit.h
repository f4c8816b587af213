/* SPDX-License-Identifier: MIT */
/*
 * `stokerctl fit`: the daemon computes statistics of a dataset; a line on stderr shows the
 * progress, and the result is printed. Ending the command ends the work, except for the
 * eigenvectors: once begun they are computed to the end and kept.
 */
#ifndef STOKER_CTL_FIT_H
#define STOKER_CTL_FIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "client/ctl/control.h"

struct fit {
	const char *dataset;
	const char *kind;				   /* NULL: found out from the path */
	const char *transforms, *name, *rescale, *epsilon; /* NULL: the daemon's choice */
	bool per_pixel, zca;
};

/* Ask for it and wait until it is done; `show`: stderr is a terminal, show the progress. 0 or a
 * negative errno, explained in control->fault. */
int fit_run(struct control *control, const struct fit *fit, bool show, json_t **values_out);
void fit_print(FILE *file, const json_t *values);

#endif
