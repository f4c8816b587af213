/* SPDX-License-Identifier: MIT */
/*
 * Lines of the log that a user causes: what its clients did wrong, its datasets, its bad samples.
 * Each user has 20 of each in a minute; what is above that is counted and said in one line, so that
 * no user can fill the log or hide in it what others did. Loop thread.
 */
#ifndef STOKER_BASE_LOG_USER_H
#define STOKER_BASE_LOG_USER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/log.h"

enum log_topic { LOG_CLIENTS, LOG_DATASETS, LOG_SAMPLES };

void log_user(uid_t uid, enum log_topic topic, enum log_level level, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Log about more than a user. */
void log_user_about(const struct log_facts *facts, enum log_topic topic, enum log_level level,
		    const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Each second: say what was left out in a minute that is over. */
void log_user_tick(uint64_t now_ns);

#endif
