/* SPDX-License-Identifier: MIT */
/*
 * Values as people read them: sizes, durations, rates, and texts without control characters. Pure;
 * the same in every locale.
 */
#ifndef STOKER_CTL_UNIT_H
#define STOKER_CTL_UNIT_H

#include <jansson.h>
#include <stddef.h>

#include "proto/row.h"

/*
 * Write a value: bytes as "153.6 MiB", times as "2 h 05 min", a rate as "1234.5", a share of 0.931
 * as "93.1 %", a reference to none as "-"; also "-" for NULL, nil, lists and maps. Control
 * characters are written as \n, \t or \x1b. Cut to size, always terminated.
 */
void unit_write(const json_t *value, enum unit unit, char *out, size_t size);

/* Columns of a terminal that UTF-8 text takes, if each character takes one. */
size_t unit_columns(const char *text);

#endif
