/* SPDX-License-Identifier: MIT */
/*
 * Forms of a line of the log: for people, as JSON for programs, and as a datagram of journald's
 * own protocol, which keeps what the line is about in fields. Pure; any thread.
 */
#ifndef STOKER_BASE_LOG_FORM_H
#define STOKER_BASE_LOG_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

#define LOG_FORM_MAX 4096 /* bytes of any form */

/* `message` and the texts of `facts`: one line of valid UTF-8, see log_form_clean(). */
struct log_event {
	enum log_level level;
	const struct log_facts *facts;
	const char *message; /* at most 1000 bytes of it are kept */
};

/* Each writes a line, or a datagram, to `out`, LOG_FORM_MAX bytes, and returns its size. */
size_t log_form_text(char *out, const struct log_event *event, bool with_priority);
size_t log_form_json(char *out, const struct log_event *event);
size_t log_form_journal(char *out, const struct log_event *event);

/* Control characters, and bytes that are not UTF-8, become '?': a file name may hold any byte, but
 * one event stays one line, and no terminal obeys it. */
void log_form_clean(char *text);

#endif
