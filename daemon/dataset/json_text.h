/* SPDX-License-Identifier: MIT */
/*
 * Texts that are nearly JSON: with what Python's json and others write and JSON does not have: NaN,
 * Infinity, numbers beyond 64 bits, halves of surrogate pairs, NUL, bytes that are not UTF-8, a
 * mark of the byte order in front. They become JSON in which each such value is a mark: {"what it
 * is": null}. The text is hostile. Pure, but for the memory that is returned; any thread.
 */
#ifndef STOKER_DATASET_JSON_TEXT_H
#define STOKER_DATASET_JSON_TEXT_H

#include <stddef.h>

enum {
	JSON_TEXT_NONE = 1, /* it has no such value */
};

/* Rewrite a text. 0: *out (the caller's to free) has *out_size bytes; JSON_TEXT_NONE or -ENOMEM. In
 * keys only the letters that cannot be are replaced, by their escape. */
int json_text_mark(const char *text, size_t size, char **out, size_t *out_size);

#endif
