/* SPDX-License-Identifier: MIT */
/*
 * Splits the command line into flags and their texts; option.h parses the texts. Borrows from argv.
 */
#ifndef STOKER_CONFIG_FLAGS_H
#define STOKER_CONFIG_FLAGS_H

#include "config.h"
#include "config/option.h"

#define FLAGS_MAX 256

enum flags_action { FLAGS_RUN, FLAGS_CHECK, FLAGS_PRINT, FLAGS_HELP, FLAGS_VERSION };

struct flags {
	enum flags_action action;
	const char *config; /* of --config; NULL: not given */
	struct flag {
		const struct option *option;
		const char *value;
	} given[FLAGS_MAX]; /* in their order: a later one overrides, or adds to, an earlier one */
	unsigned count;
};

/* 0 or CONFIG_E_USAGE. */
int flags_take(struct flags *flags, int argc, char **argv, struct fault *fault);

#endif
