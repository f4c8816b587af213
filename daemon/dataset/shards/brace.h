/* SPDX-License-Identifier: MIT */
/*
 * Braces in a path, as a shell and WebDataset expand them: {a,b}, {000..146}, {0..9..3}, {a..f},
 * within each other and one behind the other. Braces with neither a comma nor two dots stand for
 * themselves. Pure; any thread.
 */
#ifndef STOKER_DATASET_SHARDS_BRACE_H
#define STOKER_DATASET_SHARDS_BRACE_H

#include <stdbool.h>
#include <stddef.h>

/* Takes one text, terminated; not 0 ends the expansion. */
typedef int brace_take(void *context, const char *text);

enum {
	BRACE_E_LONG = 1, /* a text would be longer than BRACE_TEXT_MAX, or braces are too deep */
};
#define BRACE_TEXT_MAX 4095

/* Hand each text that `pattern` stands for to `take`, in order. 0, BRACE_E_LONG, or what `take`
 * gave, which is negative or above BRACE_E_LONG. */
int brace_expand(const char *pattern, brace_take *take, void *context);

#endif
