/* SPDX-License-Identifier: MIT */
/*
 * Checks of --check beside those of values: are there the folders that the daemon will need, and is
 * nothing else where its sockets will be? Blocks; before the loop. Creates nothing.
 */
#ifndef STOKER_CONFIG_PREFLIGHT_H
#define STOKER_CONFIG_PREFLIGHT_H

#include <stdbool.h>

#include "config.h"

enum {
	PREFLIGHT_E_BAD = 1, /* the words name setting and path */
};

/* `made`: the daemon makes the folder of its sockets if it is missing. */
int preflight_check(const struct config *config, bool made, struct fault *fault);

/* Check that what is kept on disk has a folder. 0 or PREFLIGHT_E_BAD. */
int preflight_check_cache(const struct config *config, struct fault *fault);

#endif
