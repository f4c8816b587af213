/* SPDX-License-Identifier: MIT */
/*
 * Bytes from elsewhere (paths, fields, keys) made fit for a message to people: one line, valid
 * UTF-8, short. Control characters and bytes that are no UTF-8 become \xNN; of what is too long the
 * end is kept, where a path has its file name. Plain memory of the caller; any thread.
 */
#ifndef STOKER_BASE_QUOTE_H
#define STOKER_BASE_QUOTE_H

#include <stddef.h>

#define QUOTE_MAX 160

struct quote {
	char text[QUOTE_MAX + 1];
};

/* Both return quote->text, so that they can stand among the arguments of fault_say(). */
const char *quote_bytes(struct quote *quote, const char *bytes, size_t size);
const char *quote_text(struct quote *quote, const char *string);

/*
 * The one of `names` (NULL ends it) that `bytes` was probably meant to be, or NULL: a few letters
 * left out, added, changed or swapped; '-' and '_' and upper and lower case are the same.
 */
const char *quote_nearest(const char *bytes, size_t size, const char *const *names);

#endif
