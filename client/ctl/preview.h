/* SPDX-License-Identifier: MIT */
/*
 * A contact sheet: the first samples of an epoch, as a trainer with these transforms and this seed
 * gets them, side by side in one picture, each with its class or label below. Knows no terminal.
 */
#ifndef STOKER_CTL_PREVIEW_H
#define STOKER_CTL_PREVIEW_H

#include <jansson.h>
#include <stdio.h>

#include "client/ctl/control.h"

/* As they stand on the command line; NULL: the default. */
struct preview {
	const char *dataset;
	const char *transforms; /* the middle of each image, 128 x 128 */
	const char *output;	/* file of the sheet; there is no default */
	const char *epoch;	/* 0 */
	const char *rows;	/* 4 */
	const char *cols;	/* 8 */
	const char *seed;	/* 0; of the order and of the augmentation */
	const char *split;	/* train */
};

/* 0 or a negative errno with words in the control's fault. The values are the caller's. */
int preview_run(struct control *control, const struct preview *preview, json_t **values_out);
void preview_print(FILE *file, const json_t *values);

#endif
