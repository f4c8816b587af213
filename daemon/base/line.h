/* SPDX-License-Identifier: MIT */
/*
 * Reads a text file line by line, in bounded memory: a line has at most so many bytes. Accepts LF
 * and CRLF, a UTF-8 byte order mark at the start, and a last line without a line end. Does not
 * check the encoding. Owns its buffer, borrows the descriptor; one thread at a time.
 */
#ifndef STOKER_BASE_LINE_H
#define STOKER_BASE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_MAX_BYTES 65536	  /* of a line that people write */
#define LINE_MOST_BYTES (2 << 20) /* of one that programs write, with lists of numbers */

enum {
	LINE_E_LONG = 1, /* a line longer than the limit */
	LINE_E_NUL,	 /* a NUL byte: not a text file */
	LINE_E_QUOTE,	 /* a quote is still open at the end of the file */
	LINE_E_READ,	 /* the file cannot be read, or memory is short: errno says why */
};

struct line_reader {
	int fd;
	bool quotes; /* CSV: a line continues while a "quote" is open */
	bool ended;
	char *data; /* owned; grows with the lines */
	size_t capacity, start, end;
	size_t limit;  /* bytes of a line: one of the two above */
	uint64_t line; /* number of the line returned last, or at fault; its first, if several */
	uint64_t next_line;
};
#define LINE_READER_NULL ((struct line_reader){.fd = -1})

int line_reader_init(struct line_reader *reader, int fd, bool quotes,
		     size_t limit); /* 0 or -ENOMEM */
void line_reader_deinit(struct line_reader *reader);

/* The next line without its line end, terminated by a NUL, borrowed until the next call; *line_out
 * is NULL after the last. 0 or a condition. */
int line_next(struct line_reader *reader, char **line_out, size_t *size_out);

/* The message for people of a condition. */
const char *line_words(const struct line_reader *reader, int condition);

#endif
