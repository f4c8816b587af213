// SPDX-License-Identifier: MIT
#include "base/log_form.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/quote.h"

#define LINE_MAX_ 1023 /* bytes of a line for people */
#define JOB_MAX 255

void log_form_clean(char *text)
{
	size_t size = strlen(text);
	for (size_t at = 0; at < size;) {
		size_t length = quote_character((const uint8_t *)text + at, size - at);
		if (length == 0)
			text[at] = '?';
		at += length ? length : 1;
	}
}

size_t log_form_text(char *out, const struct log_event *event, bool with_priority)
{
	char head[16] = "stokerd: ";
	if (with_priority)
		snprintf(head, sizeof(head), "<%d>", (int)event->level);
	int size = snprintf(out, LINE_MAX_, "%s%s", head, event->message);
	size_t used = size < LINE_MAX_ ? (size_t)size : LINE_MAX_ - 1;
	out[used++] = '\n';
	return used;
}

/* The sizes add up to less than LOG_FORM_MAX: a message of 1000 bytes and a job of 255, of which
 * each character may need an escape, and some numbers. */
__attribute__((format(printf, 3, 4))) static void add(char *out, size_t *used, const char *format,
						      ...)
{
	va_list list;
	va_start(list, format);
	int size = vsnprintf(out + *used, LOG_FORM_MAX - *used, format, list);
	va_end(list);
	if (size > 0)
		*used += (size_t)size;
}

static void add_quoted(char *out, size_t *used, const char *text, size_t most)
{
	out[(*used)++] = '"';
	for (size_t i = 0; text[i] && i < most; i++) {
		if (text[i] == '"' || text[i] == '\\')
			out[(*used)++] = '\\';
		out[(*used)++] = text[i];
	}
	out[(*used)++] = '"';
}

static const char *level_name(enum log_level level)
{
	return level == LOG_LEVEL_ERROR	    ? "error"
	       : level == LOG_LEVEL_WARNING ? "warning"
	       : level == LOG_LEVEL_INFO    ? "info"
					    : "debug";
}

/* As many whole characters as fit into `most` bytes. */
static size_t whole(const char *text, size_t most)
{
	size_t size = strnlen(text, most + 1);
	if (size <= most)
		return size;
	for (size = most; size && ((unsigned char)text[size] & 0xc0) == 0x80; size--)
		;
	return size;
}

size_t log_form_json(char *out, const struct log_event *event)
{
	const struct log_facts *facts = event->facts;
	const struct {
		const char *key;
		uint64_t number;
	} numbers[] = {
		{"reader", facts->reader}, {"stream", facts->stream}, {"dataset", facts->dataset}};
	struct timespec now;
	struct tm utc;
	char date[32];
	size_t used = 0;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
	add(out, &used, "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"message\":", date,
	    now.tv_nsec / 1000000, level_name(event->level));
	add_quoted(out, &used, event->message, whole(event->message, 1000));
	if (facts->uid != (uid_t)-1)
		add(out, &used, ",\"uid\":%u", (unsigned)facts->uid);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i].number)
			add(out, &used, ",\"%s\":%llu", numbers[i].key,
			    (unsigned long long)numbers[i].number);
	if (facts->job && *facts->job) {
		add(out, &used, ",\"job\":");
		add_quoted(out, &used, facts->job, whole(facts->job, JOB_MAX));
	}
	add(out, &used, "}\n");
	return used;
}

size_t log_form_journal(char *out, const struct log_event *event)
{
	const struct log_facts *facts = event->facts;
	const struct {
		const char *key;
		uint64_t number;
	} numbers[] = {
		{"READER", facts->reader}, {"STREAM", facts->stream}, {"DATASET", facts->dataset}};
	size_t used = 0;
	add(out, &used, "MESSAGE=%.*s\nPRIORITY=%d\nSYSLOG_IDENTIFIER=stokerd\n",
	    (int)whole(event->message, 1000), event->message, (int)event->level);
	if (facts->uid != (uid_t)-1)
		add(out, &used, "STOKER_UID=%u\n", (unsigned)facts->uid);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i].number)
			add(out, &used, "STOKER_%s=%llu\n", numbers[i].key,
			    (unsigned long long)numbers[i].number);
	if (facts->job && *facts->job)
		add(out, &used, "STOKER_JOB=%.*s\n", (int)whole(facts->job, JOB_MAX), facts->job);
	return used;
}
