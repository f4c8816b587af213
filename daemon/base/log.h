/* SPDX-License-Identifier: MIT */
/*
 * The daemon's log: one line per event on stderr, with systemd's <N> priority prefix when stderr is
 * the journal. Only the loop thread and main log; the rooms below them return faults. Keeps errno.
 */
#ifndef STOKER_BASE_LOG_H
#define STOKER_BASE_LOG_H

enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7,
};

void log_set_level(enum log_level level); /* less important lines are dropped; initially INFO */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
