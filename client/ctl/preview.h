/* SPDX-License-Identifier: MIT */
/*
 * `stokerctl preview`: a contact sheet. The first samples of an epoch, as a trainer with these
 * transforms and this seed gets them, or as a running stream gives them, in one image, each with
 * its class or label below it. Knows no terminal.
 */
#ifndef STOKER_CTL_PREVIEW_H
#define STOKER_CTL_PREVIEW_H

#include <jansson.h>
#include <stdio.h>

#include "client/ctl/control.h"

/* As on the command line; NULL: the default. */
struct preview {
	const char *dataset, *stream; /* one of them; the stream by its number */
	const char *transforms;	      /* the centre of each image, 128 x 128; the stream's own */
	const char *output;	      /* file of the sheet; required */
	const char *epoch;	      /* 0 */
	const char *rows;	      /* 4 */
	const char *cols;	      /* 8 */
	const char *seed;	      /* 0; of the order and of the augmentation */
	const char *split;	      /* train */
	const char *kind;	      /* found out from the path */
};

/* 0, and the caller owns the values; or a negative errno, explained in control->fault. */
int preview_run(struct control *control, const struct preview *preview, json_t **values_out);
void preview_print(FILE *file, const json_t *values);

#endif
