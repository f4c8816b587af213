/* SPDX-License-Identifier: MIT */
/*
 * How fast a dataset comes with given transforms, what the speed is limited by, and what to change.
 * A trainer that only reads every byte: for some seconds of the first epoch, then the same samples
 * again, which by then have been visited. Asks the control socket what the work took, the data
 * socket for the batches. Other trainers' work is in the figures: it is best without any.
 */
#ifndef STOKER_CTL_BENCH_H
#define STOKER_CTL_BENCH_H

#include <jansson.h>
#include <stdio.h>

#include "client/ctl/control.h"

/* As they stand on the command line; NULL: the default. */
struct bench {
	const char *dataset;
	const char *transforms; /* those of the usual ImageNet training */
	const char *batch_size; /* 64 */
	const char *seconds;	/* 5, of each of the two passes */
};

/* 0 or a negative errno with words in the control's fault. The values are the caller's. */
int bench_run(struct control *control, const struct bench *bench, json_t **values_out);
void bench_print(FILE *file, const json_t *values);

#endif
