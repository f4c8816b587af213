/* SPDX-License-Identifier: MIT */
/* What can be changed while the daemon runs (`stokerctl set`), and what has to follow. Loop thread.
 */
#ifndef STOKER_LOOP_SETTINGS_H
#define STOKER_LOOP_SETTINGS_H

#include "base/fault.h"

struct core;

/* 0, or a condition with words; then all is as it was. */
int settings_set(struct core *core, const char *name, const char *value, struct fault *fault);
/* Give the pool as many threads as the settings say. Each fetcher that hangs in a read is replaced
 * by one more, so that other files can be read. 0 or a negative errno. */
int settings_resize_pool(struct core *core);

#endif
