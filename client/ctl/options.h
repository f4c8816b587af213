/* SPDX-License-Identifier: MIT */
/*
 * The options that only some commands have: their letters stand in the table of commands. Help,
 * the parser and the completions of shells derive from this. Data only.
 */
#ifndef STOKER_CTL_OPTIONS_H
#define STOKER_CTL_OPTIONS_H

#include <stddef.h>

struct own_option {
	char letter;
	const char *name;	     /* with its -- */
	size_t member;		     /* of struct invocation */
	const char *argument, *help; /* argument "": it takes none */
};

extern const struct own_option own_options[];
extern const size_t n_own_options;

#endif
