/* SPDX-License-Identifier: MIT */
/*
 * A reload, in three steps: config_reload() reads what the running configuration was loaded from;
 * reload_take() exchanges all values that can change while the daemon runs, with their origins (a
 * second time takes that back); reload_compare() says what is different. Loop thread.
 */
#ifndef STOKER_CONFIG_RELOAD_H
#define STOKER_CONFIG_RELOAD_H

#include <stdbool.h>

#include "config.h"

struct reload_change {
	const char *name, *before, *after; /* as in a configuration file */
	const char *origin;		   /* of `after` */
	bool in_force;			   /* else a restart is needed, and `before` stays */
	bool was_set;			   /* `before` came from config_set() */
};
typedef void reload_seen(void *context, const struct reload_change *change);

void reload_take(struct config *config, struct config *other);
/* `other` has the values before, and those that need a restart. */
void reload_compare(const struct config *config, const struct config *other, reload_seen *seen,
		    void *context);

#endif
