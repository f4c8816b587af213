/* SPDX-License-Identifier: MIT */
/*
 * Findings of `stokerctl doctor`: a list of checks, each ok, warn or fail, with what to do. Kept as
 * JSON, printed as a table. Knows no check.
 */
#ifndef STOKER_CTL_FINDINGS_H
#define STOKER_CTL_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum finding_level { FINDING_OK, FINDING_WARN, FINDING_FAIL };

struct findings {
	json_t *list; /* of {check, level, text, advice}; owned */
	enum finding_level worst;
};

int findings_init(struct findings *findings); /* 0 or -ENOMEM */
void findings_deinit(struct findings *findings);

/* `check` is the name of what was looked at, `advice` what to do, NULL if there is nothing. */
__attribute__((format(printf, 5, 6))) void findings_add(struct findings *findings,
							enum finding_level level, const char *check,
							const char *advice, const char *format,
							...);

/* A line for each, and one with the advice below; then a sum. */
void findings_print(FILE *file, const struct findings *findings, bool bold);
/* {checks, worst}; a new reference, or NULL if there is no memory. */
json_t *findings_json(const struct findings *findings);

#endif
