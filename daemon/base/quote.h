/* SPDX-License-Identifier: MIT */
/*
 * Values in messages for people. Bytes from outside (paths, fields, keys) become one short line of
 * valid UTF-8: control characters and bytes that are not UTF-8 become \xNN; of a long text the end
 * is kept, where a path has its file name. Plain memory of the caller; any thread.
 */
#ifndef STOKER_BASE_QUOTE_H
#define STOKER_BASE_QUOTE_H

#include <stddef.h>
#include <stdint.h>

#define QUOTE_MAX 160

struct quote {
	char text[QUOTE_MAX + 1];
};

/* Length of the UTF-8 character at `at`; 0 if there is none, or a control character: one below
 * U+0020, or U+007F to U+009F, which terminals obey, too. */
size_t quote_character(const uint8_t *at, size_t left);

/* Both return quote->text, so that they can stand among the arguments of fault_say(). */
const char *quote_bytes(struct quote *quote, const char *bytes, size_t size);
const char *quote_text(struct quote *quote, const char *string);

/* With commas: 4,290,250,000. */
struct quote quote_number(uint64_t number);

/*
 * The one of `names` (NULL ends it) that `bytes` was probably meant to be, or NULL: the
 * nearest by optimal string alignment distance (letters left out, added, changed or swapped), if
 * that is small. '-' equals '_', upper case equals lower case.
 */
const char *quote_nearest(const char *bytes, size_t size, const char *const *names);

#endif
