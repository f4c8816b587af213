// SPDX-License-Identifier: MIT
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log_form.h"

#define JOURNAL "/run/systemd/journal/socket"
#define MESSAGE_SIZE 1024

static const struct log_facts no_facts = {.uid = (uid_t)-1};
static enum log_level log_level = LOG_LEVEL_INFO;
static enum log_format log_format = LOG_FORMAT_TEXT;
static int journal = -1; /* a socket of journald's own protocol; -1: lines go to stderr */
static bool ours;	 /* stderr is an open file of the log alone, which does not block */
static uint64_t dropped, reported; /* lines, and how many of them the log itself speaks of */
static char rest[LOG_FORM_MAX];	   /* of a line whose start was written */
static size_t rest_size;
static struct log_past past[LOG_PAST]; /* a ring */
static unsigned past_count;	       /* of all */

/* JOURNAL_STREAM names what systemd made stderr; a shell in between may have made it a file. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat stat;
	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &stat) == 0 && stat.st_dev == device && stat.st_ino == inode;
}

/* O_NONBLOCK belongs to the open file, which others may share (the shell, a pipe's other writers):
 * a pipe or a terminal is opened once more for the log alone. Where that is not allowed, log_put()
 * asks before it writes. */
void log_open(void)
{
	struct stat stat;
	if (is_journal())
		(void)log_open_journal(JOURNAL); /* else by stderr, without fields */
	if (fstat(STDERR_FILENO, &stat) || !(S_ISFIFO(stat.st_mode) || S_ISCHR(stat.st_mode)))
		return;
	int fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return;
	ours = dup2(fd, STDERR_FILENO) >= 0;
	close(fd);
}

int log_open_journal(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		int r = -errno;
		close(fd);
		return r;
	}
	if (journal >= 0)
		close(journal);
	journal = fd;
	return 0;
}

void log_set_format(enum log_format format)
{
	log_format = format;
}

void log_set_level(enum log_level level)
{
	log_level = level;
}

bool log_takes(enum log_level level)
{
	return level <= log_level;
}

uint64_t log_dropped(void)
{
	return dropped;
}

/* As write(), and fails rather than wait. */
static ssize_t log_put(const char *bytes, size_t size)
{
	struct pollfd out = {STDERR_FILENO, POLLOUT, 0};
	ssize_t done = send(STDERR_FILENO, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (done >= 0 || errno != ENOTSOCK)
		return done;
	return ours || poll(&out, 1, 0) == 1 ? write(STDERR_FILENO, bytes, size) : -1;
}

/* The rest of the line before, then this one. Of the line that goes last only the start may go. */
static bool log_put_line(const char *line, size_t size)
{
	while (rest_size) {
		ssize_t done = log_put(rest, rest_size);
		if (done <= 0)
			return false;
		rest_size -= (size_t)done;
		memmove(rest, rest + done, rest_size);
	}
	ssize_t done = log_put(line, size);
	if (done <= 0)
		return false;
	rest_size = size - (size_t)done;
	memcpy(rest, line + done, rest_size);
	return true;
}

/* A datagram to journald. False: it takes none now; it may have been restarted, or the line is
 * too large for it. */
static bool log_put_journal(const char *bytes, size_t size)
{
	return send(journal, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
}

static void log_keep(const char *message)
{
	struct log_past *kept = &past[past_count++ % LOG_PAST];
	kept->at_ns = clock_ns();
	size_t size = strnlen(message, sizeof(kept->text) - 1);
	memcpy(kept->text, message, size);
	kept->text[size] = '\0';
	log_form_clean(kept->text); /* it may have been cut within a character */
}

const struct log_past *log_past(unsigned i)
{
	return &past[(past_count - 1 - i) % LOG_PAST];
}

static bool log_write(const struct log_facts *facts, enum log_level level, const char *format,
		      va_list arguments)
{
	char message[MESSAGE_SIZE], job[256] = "", line[LOG_FORM_MAX];
	struct log_facts clean = *facts;
	const struct log_event event = {level, &clean, message};
	vsnprintf(message, sizeof(message), format, arguments);
	log_form_clean(message);
	if (level <= LOG_LEVEL_WARNING)
		log_keep(message);
	if (facts->job)
		snprintf(job, sizeof(job), "%s", facts->job);
	log_form_clean(job);
	clean.job = job;
	if (log_format == LOG_FORMAT_JSON)
		return log_put_line(line, log_form_json(line, &event));
	if (journal >= 0 && log_put_journal(line, log_form_journal(line, &event)))
		return true;
	return log_put_line(line, log_form_text(line, &event, getenv("JOURNAL_STREAM")));
}

__attribute__((format(printf, 2, 3))) static bool log_try(enum log_level level, const char *format,
							  ...)
{
	va_list arguments;
	va_start(arguments, format);
	bool done = log_write(&no_facts, level, format, arguments);
	va_end(arguments);
	return done;
}

void log_tick(void)
{
	int saved = errno;
	uint64_t count = dropped - reported;
	if (count &&
	    log_try(LOG_LEVEL_WARNING, "%llu lines were dropped: the log could not be written",
		    (unsigned long long)count))
		reported += count;
	errno = saved;
}

void log_arguments(const struct log_facts *facts, enum log_level level, const char *format,
		   va_list arguments)
{
	int saved = errno;
	if (!log_takes(level))
		return;
	log_tick();
	if (reported != dropped || !log_write(facts, level, format, arguments))
		dropped++;
	errno = saved;
}

void log_line(enum log_level level, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	log_arguments(&no_facts, level, format, arguments);
	va_end(arguments);
}

void log_about(const struct log_facts *facts, enum log_level level, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	log_arguments(facts, level, format, arguments);
	va_end(arguments);
}
