/* SPDX-License-Identifier: MIT */
/*
 * `stokerctl metrics`: the text that Prometheus reads; and `stokerctl page`: where the live page
 * is, with a token for names, which a browser may be told to open.
 */
#ifndef STOKER_CTL_WATCH_H
#define STOKER_CTL_WATCH_H

#include <jansson.h>
#include <stdio.h>

#include "client/ctl/control.h"

/* Each: 0, and the caller owns the values; or a negative errno, explained in control->fault. */
int watch_metrics(struct control *control, json_t **values_out); /* {metrics: TEXT} */
void watch_metrics_print(FILE *file, const json_t *values);
int watch_page(struct control *control, json_t **values_out); /* {url, token, socket} */
/* Prints the URL; on a terminal of a desktop a browser opens it, too. */
void watch_page_print(FILE *file, const json_t *values);

#endif
