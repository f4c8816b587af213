/* SPDX-License-Identifier: MIT */
/*
 * Roots: the folders beneath which users other than the daemon's own may have files read for them
 * (dataset-root). A rule is PATH, PATH:GROUP or PATH:@USER, where PATH is absolute or a URL of data
 * (base/url.h); all rules together are a list to which
 * each value adds one, and which an empty value clears. Texts only: looks at no file. Names of
 * users and groups are looked up when a rule is added. Immutable otherwise; knows no dataset.
 */
#ifndef STOKER_CONFIG_ROOTS_H
#define STOKER_CONFIG_ROOTS_H

#include <stddef.h>

#include "base/credentials.h"
#include "base/fault.h"

#define ROOTS_BYTES_MAX 4095 /* of all rules' texts, with a newline between them */

enum {
	ROOTS_E_BAD = 1, /* it is no rule, or there is no such user or group */
	ROOTS_E_FULL,
};

struct roots;

/* NULL is the empty list. Add the rule `text`, or, if it is empty, clear the list. 0, a condition
 * or -ENOMEM; on failure nothing changed. */
int roots_add(struct roots **roots, const char *text, struct fault *fault);
void roots_free(struct roots *roots);

/* The folder of the first rule that allows a path, which is absolute, has no "//" and no ".", or
 * is a tidy URL, and lies beneath the folder by its text; NULL: none. It lives as long as the
 * roots. */
const char *roots_cover(const struct roots *roots, const struct credentials *credentials,
			const char *path);

/* The number'th rule as it was added; NULL behind the last. */
const char *roots_text(const struct roots *roots, size_t number);

#endif
