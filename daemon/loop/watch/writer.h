/* SPDX-License-Identifier: MIT */
/*
 * A text that grows as it is written. Out of memory is remembered and told at the end: whoever
 * writes does not ask after each word. One owner; any thread.
 */
#ifndef STOKER_LOOP_WATCH_WRITER_H
#define STOKER_LOOP_WATCH_WRITER_H

#include <stdbool.h>
#include <stddef.h>

struct writer {
	char *data; /* owned; ends in a NUL behind `size` */
	size_t size, capacity;
	bool failed; /* there was no memory: the text is not whole */
};
#define WRITER_NULL ((struct writer){0})
#define WRITER_LABEL_MAX 64

void writer_deinit(struct writer *writer); /* may be called twice */
__attribute__((format(printf, 2, 3))) void writer_add(struct writer *writer, const char *format,
						      ...);
void writer_add_bytes(struct writer *writer, const void *data, size_t size);
/* A text of JSON, in quotes; what is not UTF-8 becomes U+FFFD. */
void writer_add_json(struct writer *writer, const char *text);
/* The value of a label of Prometheus, in quotes: at most WRITER_LABEL_MAX bytes of `text`, else its
 * first and last ones around "...". What is not UTF-8, and what a terminal takes for a command,
 * becomes U+FFFD. */
void writer_add_label(struct writer *writer, const char *text);

#endif
