/* SPDX-License-Identifier: MIT */
/*
 * The texts of a JSON object, such as a service for credentials answers. The JSON is hostile;
 * memory is bounded by its length. Pure, but for the memory that is returned; any thread.
 */
#ifndef STOKER_STORAGE_REMOTE_JSON_TEXTS_H
#define STOKER_STORAGE_REMOTE_JSON_TEXTS_H

#include <stddef.h>

enum {
	JSON_TEXTS_E_BAD = 1, /* it is no JSON object */
};

/* Copy the texts that an object has by these names; NULL: it has none of that name. The caller's to
 * free; those of a secret object, which are wiped here. 0, JSON_TEXTS_E_BAD or -ENOMEM. */
int json_texts_parse(const char *text, size_t size, const char *const *names, char **out,
		     size_t count);

#endif
