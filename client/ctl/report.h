/* SPDX-License-Identifier: MIT */
/*
 * The daemon's status as a page: what belongs together in sections, each value with what it means;
 * values that this version does not know come last.
 */
#ifndef STOKER_CTL_REPORT_H
#define STOKER_CTL_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Its first line: version, state, age, pid, socket. */
void report_print_headline(FILE *file, const json_t *values, bool bold);
void report_print(FILE *file, json_t *values, bool bold);

#endif
