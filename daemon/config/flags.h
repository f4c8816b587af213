/* SPDX-License-Identifier: MIT */
/*
 * The command line, taken apart: which flags are there, with which texts. What the texts mean is
 * the option table's. Borrows from argv.
 */
#ifndef STOKER_CONFIG_FLAGS_H
#define STOKER_CONFIG_FLAGS_H

#include "config.h"

enum flags_action { FLAGS_RUN, FLAGS_CHECK, FLAGS_PRINT, FLAGS_HELP, FLAGS_VERSION };

struct flags {
	enum flags_action action;
	const char *config;		    /* the file; NULL: not given */
	const char *values[CONFIG_OPTIONS]; /* by row of the table */
};

/* 0 or CONFIG_E_USAGE. */
int flags_take(struct flags *flags, int argc, char **argv, struct fault *fault);

#endif
