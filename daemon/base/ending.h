/* SPDX-License-Identifier: MIT */
/*
 * What a name ends in, which tells what a file is. Pure; any thread.
 */
#ifndef STOKER_BASE_ENDING_H
#define STOKER_BASE_ENDING_H

#include <stdbool.h>
#include <string.h>

/* More than the ending has to be there: ".npy" is a name without one. */
static inline bool ends_in(const char *name, const char *ending)
{
	size_t size = strlen(name), ending_size = strlen(ending);
	return size > ending_size && strcmp(name + size - ending_size, ending) == 0;
}

#endif
