/* SPDX-License-Identifier: MIT */
/*
 * The daemon's log: one line per event on stderr, for people or as JSON. When stderr is the journal
 * a line goes to journald with fields, STOKER_READER, STOKER_JOB, STOKER_UID and so on, or, where
 * its socket cannot be had, to stderr with systemd's <N> priority prefix. Nobody waits for it: what
 * cannot be written at once is dropped and counted. A line is valid UTF-8 without control
 * characters. Only the loop thread and main log; the rooms below them return faults. Keeps errno.
 */
#ifndef STOKER_BASE_LOG_H
#define STOKER_BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7,
};

#define LOG_PAST 8	  /* warnings and errors that are kept */
#define LOG_PAST_TEXT 240 /* of each, cut at the end */

enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

/* Subject of a line, for programs: 0, NULL and (uid_t)-1 are none. */
struct log_facts {
	uid_t uid;
	uint64_t reader, stream, dataset;
	const char *job; /* any bytes */
};

/* Before the first line. */
void log_open(void);
/* Send the lines to the socket of a journal, not to stderr. log_open() does so by itself when
 * stderr is the journal. 0 or a negative errno. */
int log_open_journal(const char *path);
void log_set_format(enum log_format format); /* first: TEXT */
void log_set_level(enum log_level level);    /* less important lines are not written; first: INFO */
bool log_takes(enum log_level level);
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_about(const struct log_facts *facts, enum log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void log_arguments(const struct log_facts *facts, enum log_level level, const char *format,
		   va_list arguments) __attribute__((format(printf, 3, 0)));

/* Each second: say how many lines were dropped, if the log can be written again. */
void log_tick(void);
uint64_t log_dropped(void); /* how many lines were, since the start */

/* A warning or an error that was said lately, for who watches; also one that was dropped. */
struct log_past {
	uint64_t at_ns; /* of the monotonic clock; 0: there is none */
	char text[LOG_PAST_TEXT];
};
/* The newest is 0; `i` is below LOG_PAST. Kept until the next line. */
const struct log_past *log_past(unsigned i);

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
