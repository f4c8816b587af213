/* SPDX-License-Identifier: MIT */
/*
 * Settings that can be changed while the daemon runs, by `stokerctl set` or a reload, and their
 * consequences. Loop thread, also for the files of a reload: they are small, and only a user who
 * may stop the daemon may ask for it.
 */
#ifndef STOKER_LOOP_SETTINGS_H
#define STOKER_LOOP_SETTINGS_H

#include "base/fault.h"

struct config;
struct core;

/* A setting by its name, or `priority.READER`, which lasts as long as that reader. 0, or a
 * condition with words; then all is as it was. */
int settings_set(struct core *core, const char *name, const char *value, struct fault *fault);
/* Read the configuration again; `why` is for the log, which has a line for each change. 0, then
 * `other_out` has what reload_compare() wants and is to be freed; or a condition with words, then
 * all is as it was. */
int settings_reload(struct core *core, const char *why, struct config *other_out,
		    struct fault *fault);

/* Apply the consequences where `auto` has become another number. */
void settings_follow_auto(struct core *core);

#endif
