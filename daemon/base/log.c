// SPDX-License-Identifier: MIT
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum log_level log_level = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	log_level = level;
}

void log_line(enum log_level level, const char *format, ...)
{
	int saved = errno;
	if (level > log_level)
		return;
	char line[1024];
	int at = 0;
	if (getenv("JOURNAL_STREAM"))
		at = snprintf(line, sizeof(line), "<%d>", (int)level);
	else
		at = snprintf(line, sizeof(line), "stokerd: ");
	va_list args;
	va_start(args, format);
	int size = vsnprintf(line + at, sizeof(line) - (size_t)at - 1, format, args);
	va_end(args);
	if (size < 0)
		size = 0;
	at += size;
	if ((size_t)at > sizeof(line) - 2)
		at = sizeof(line) - 2;
	for (int i = 0; i < at; i++) /* a file name may hold any byte: one event stays one line */
		if ((unsigned char)line[i] < ' ')
			line[i] = '?';
	line[at++] = '\n';
	/* A log that cannot be written cannot be reported either; the daemon goes on. */
	if (write(STDERR_FILENO, line, (size_t)at) < 0) {
	}
	errno = saved;
}
