/* SPDX-License-Identifier: MIT */
/*
 * The status of the daemon as a page: values in sections, each with its meaning; values that this
 * version does not know come last.
 */
#ifndef STOKER_CTL_REPORT_H
#define STOKER_CTL_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Print the report's first line: version, state, age, pid, socket. */
void report_print_headline(FILE *file, const json_t *values, bool bold);
void report_print(FILE *file, json_t *values, bool bold);

#endif
