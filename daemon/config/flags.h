/* SPDX-License-Identifier: MIT */
/*
 * Splits the command line into flags and their texts; option.h parses the texts. Borrows from argv.
 */
#ifndef STOKER_CONFIG_FLAGS_H
#define STOKER_CONFIG_FLAGS_H

#include "config.h"

enum flags_action { FLAGS_RUN, FLAGS_CHECK, FLAGS_PRINT, FLAGS_HELP, FLAGS_VERSION };

struct flags {
	enum flags_action action;
	const char *config;		    /* of --config; NULL: not given */
	const char *values[CONFIG_OPTIONS]; /* by row of the table */
};

/* 0 or CONFIG_E_USAGE. */
int flags_take(struct flags *flags, int argc, char **argv, struct fault *fault);

#endif
