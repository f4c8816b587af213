/* SPDX-License-Identifier: MIT */
/*
 * `stokerctl index`: the daemon builds the seek indexes of the JPEGs of a dataset; a line on stderr
 * shows the progress, and the result is printed. Ending the command ends the work.
 */
#ifndef STOKER_CTL_INDEX_H
#define STOKER_CTL_INDEX_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "client/ctl/control.h"

struct transforms;

/* Ask for it and wait until it is done; `kind` NULL: found out from the path; `transforms` not
 * NULL: pictures are kept decoded, as a stream of these takes them, with `exif` turned; `show`:
 * stderr is a terminal, show the progress. 0 or a negative errno, explained in control->fault. */
int index_build(struct control *control, const char *path, const char *kind,
		const struct transforms *transforms, bool exif, bool show, json_t **values_out);

void index_print(FILE *file, const json_t *values);

#endif
