/* SPDX-License-Identifier: MIT */
/*
 * `stokerctl replay`: makes one sample of a stream again. Shows what a trainer gets at a position
 * of an epoch: its digest, and an image to look at. The control socket says what the stream is, the
 * data socket gives the sample. Knows no terminal.
 */
#ifndef STOKER_CTL_REPLAY_H
#define STOKER_CTL_REPLAY_H

#include <jansson.h>
#include <stdio.h>

#include "client/ctl/control.h"

/* As on the command line. */
struct replay {
	const char *stream, *epoch, *position;
	const char *output; /* file of the image; NULL: none */
};

/* 0, and the caller owns the values; or a negative errno, explained in control->fault. */
int replay_run(struct control *control, const struct replay *replay, json_t **values_out);
void replay_print(FILE *file, const json_t *values);

#endif
