/* SPDX-License-Identifier: MIT */
/* File name suffixes: ".npy", ".tar.gz". Pure; any thread. */
#ifndef STOKER_BASE_ENDING_H
#define STOKER_BASE_ENDING_H

#include <stdbool.h>
#include <string.h>

/* Has a name this suffix and something before it: not ".npy" alone? */
static inline bool ends_in(const char *name, const char *ending)
{
	size_t size = strlen(name), ending_size = strlen(ending);
	return size > ending_size && strcmp(name + size - ending_size, ending) == 0;
}

#endif
