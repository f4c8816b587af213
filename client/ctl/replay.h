/* SPDX-License-Identifier: MIT */
/*
 * One sample of a stream, made again: what a trainer gets at a position of an epoch, by its digest,
 * and as a picture to look at. Asks the control socket what the stream is, and the data socket for
 * the sample. Knows no terminal.
 */
#ifndef STOKER_CTL_REPLAY_H
#define STOKER_CTL_REPLAY_H

#include <jansson.h>
#include <stdio.h>

#include "client/ctl/control.h"

/* As they stand on the command line. */
struct replay {
	const char *stream, *epoch, *position;
	const char *output; /* file of the picture; NULL: none is wanted */
};

/* 0 or a negative errno with words in the control's fault. The values are the caller's. */
int replay_run(struct control *control, const struct replay *replay, json_t **values_out);
void replay_print(FILE *file, const json_t *values);

#endif
