/* SPDX-License-Identifier: MIT */
/*
 * Values from the daemon as JSON, the only form in which stokerctl keeps them, for --json and for
 * tables. Bytes that are not UTF-8, and NULs, become U+FFFD; numbers above 2^63-1 become strings.
 */
#ifndef STOKER_CTL_JSON_H
#define STOKER_CTL_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "client/c/fault.h"
#include "proto/value.h"

/* A new reference, or NULL if there is no memory. */
json_t *json_of(const struct value *value);
json_t *json_of_text(struct text text);
json_t *json_of_fault(const struct fault *fault); /* code, name and text */

/* Without control characters where stdout is a terminal, whatever `file` is. */
void json_write(FILE *file, const json_t *json, size_t flags);
/* Print it to stdout, and a newline. */
void json_print(const json_t *json);

#endif
