// SPDX-License-Identifier: MIT
#include "base/line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAPACITY (2 * LINE_MAX_BYTES + 4) /* at first: a line, its end, bytes read ahead, a NUL */

int line_reader_init(struct line_reader *reader, int fd, bool quotes, size_t limit)
{
	*reader = (struct line_reader){
		.fd = fd, .quotes = quotes, .capacity = CAPACITY, .limit = limit, .next_line = 1};
	reader->data = malloc(CAPACITY);
	return reader->data ? 0 : -ENOMEM;
}

void line_reader_deinit(struct line_reader *reader)
{
	free(reader->data);
	*reader = LINE_READER_NULL;
}

/* Make room to read more, if a line fills half of it. 0 or LINE_E_READ. */
static int line_room(struct line_reader *reader, size_t held)
{
	if (held < reader->capacity / 2)
		return 0;
	char *grown = realloc(reader->data, 2 * reader->capacity);
	if (!grown)
		return LINE_E_READ;
	reader->data = grown;
	reader->capacity *= 2;
	return 0;
}

/* Read more of the file. 0, at the end of the file, too, or LINE_E_READ. */
static int line_fill(struct line_reader *reader)
{
	size_t held = reader->end - reader->start;
	memmove(reader->data, reader->data + reader->start, held);
	reader->start = 0;
	reader->end = held;
	if (line_room(reader, held))
		return LINE_E_READ;
	ssize_t count;
	do
		count = read(reader->fd, reader->data + held, reader->capacity - 1 - held);
	while (count < 0 && errno == EINTR);
	if (count < 0)
		return LINE_E_READ;
	reader->ended = count == 0;
	reader->end += (size_t)count;
	return 0;
}

/* Find the end of the line; `*scanned` is its length, and with `*quoted` the state of the search
 * when more of the line has been read. False if its end has not been read. */
static bool line_find_end(const struct line_reader *reader, size_t *scanned, bool *quoted)
{
	const char *from = reader->data + reader->start;
	size_t size = reader->end - reader->start;
	if (!reader->quotes) {
		const char *end = memchr(from + *scanned, '\n', size - *scanned);
		*scanned = end ? (size_t)(end - from) : size;
		return end;
	}
	for (; *scanned < size; ++*scanned) {
		char byte = from[*scanned], before = *scanned ? from[*scanned - 1] : ',';
		if (byte == '\n' && !*quoted)
			return true;
		/* A quote opens at the start of a field, closes, and opens again if it is half of
		 * "". */
		if (byte == '"')
			*quoted = !*quoted && (before == ',' || before == '"');
	}
	return false;
}

static void line_skip_mark(struct line_reader *reader)
{
	if (reader->end - reader->start >= 3 &&
	    memcmp(reader->data + reader->start, "\xef\xbb\xbf", 3) == 0)
		reader->start += 3;
}

/* Return the first `size` bytes as a line. */
static int line_give(struct line_reader *reader, size_t size, char **line_out, size_t *size_out)
{
	char *line = reader->data + reader->start;
	if (size > reader->limit)
		return LINE_E_LONG;
	if (memchr(line, '\0', size))
		return LINE_E_NUL;
	for (size_t i = 0; reader->quotes && i < size; i++)
		reader->next_line += line[i] == '\n';
	reader->next_line++;
	reader->start += reader->start + size < reader->end ? size + 1 : size;
	if (size && line[size - 1] == '\r')
		size--;
	line[size] = '\0';
	*line_out = line;
	*size_out = size;
	return 0;
}

int line_next(struct line_reader *reader, char **line_out, size_t *size_out)
{
	size_t scanned = 0;
	bool quoted = false;
	reader->line = reader->next_line;
	if (reader->line == 1 && reader->end < 3 && !reader->ended) {
		/* read() may return less than the mark. */
		while (reader->end < 3 && !reader->ended) {
			if (line_fill(reader))
				return LINE_E_READ;
		}
		line_skip_mark(reader);
	}
	while (!line_find_end(reader, &scanned, &quoted)) {
		size_t size = reader->end - reader->start;
		if (size > reader->limit)
			return LINE_E_LONG;
		if (reader->ended && size == 0) {
			*line_out = NULL;
			return 0;
		}
		if (reader->ended && quoted)
			return LINE_E_QUOTE;
		if (reader->ended)
			return line_give(reader, size, line_out, size_out);
		if (line_fill(reader))
			return LINE_E_READ;
	}
	return line_give(reader, scanned, line_out, size_out);
}

const char *line_words(const struct line_reader *reader, int condition)
{
	switch (condition) {
	case LINE_E_LONG:
		return reader->limit > LINE_MAX_BYTES ? "the line is longer than 2097152 bytes"
						      : "the line is longer than 65536 bytes";
	case LINE_E_NUL:
		return "the line has a NUL byte: the file is not text, or is UTF-16; save it as "
		       "UTF-8";
	case LINE_E_QUOTE:
		return "a quote (\") is opened here and never closed";
	default:
		return strerror(errno);
	}
}
