/* SPDX-License-Identifier: MIT */
/*
 * `stokerctl bench`: how fast a dataset is delivered with given transforms, what limits the speed,
 * and what to change. It is a trainer that only reads every byte: some seconds of the first epoch,
 * then the same samples again, which then have a seek index. The batches come from the data socket,
 * the time that the work took from the control socket. The work for other trainers is counted, too:
 * run it without any.
 */
#ifndef STOKER_CTL_BENCH_H
#define STOKER_CTL_BENCH_H

#include <jansson.h>
#include <stdio.h>

#include "client/ctl/control.h"

/* As on the command line; NULL: the default. */
struct bench {
	const char *dataset;
	const char *transforms; /* those of the usual ImageNet training */
	const char *batch_size; /* 64 */
	const char *seconds;	/* 5, for each of the passes */
	const char *kind;	/* found out from the path */
};

/* 0, and the caller owns the values; or a negative errno, explained in control->fault. */
int bench_run(struct control *control, const struct bench *bench, json_t **values_out);
void bench_print(FILE *file, const json_t *values);

#endif
