/* SPDX-License-Identifier: MIT */
/* A program that is run to its end, as a child of this process. Blocks. */
#ifndef STOKER_CTL_CHILD_H
#define STOKER_CTL_CHILD_H

#include <stddef.h>

struct child {
	const char *program; /* without a slash: found in $PATH */
	char *const *arguments;
	char *const *environment; /* NULL: as this process has it */
	const char *folder;	  /* where it starts; NULL: here */
};

/* `out`: what it printed, cut to fit. Returns its exit status; -1: it could not be started, or was
 * killed. */
int child_run(const struct child *child, char *out, size_t size);

#endif
