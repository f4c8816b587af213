// SPDX-License-Identifier: MIT
#include "loop/watch/http_request.h"

#include <string.h>
#include <strings.h>

struct line {
	const char *at;
	size_t size;
};

/* The next line, without its end (\r\n, or \n alone); false: there is no whole one. */
static bool next_line(const char **at, const char *end, struct line *out)
{
	const char *stop = memchr(*at, '\n', (size_t)(end - *at));
	if (!stop)
		return false;
	*out = (struct line){*at, (size_t)(stop - *at)};
	if (out->size && out->at[out->size - 1] == '\r')
		out->size--;
	*at = stop + 1;
	return true;
}

static bool is_plain(const struct line *line)
{
	for (size_t i = 0; i < line->size; i++) {
		unsigned char c = (unsigned char)line->at[i];
		if (c == 0x7f || (c < 0x20 && c != '\t'))
			return false;
	}
	return true;
}

static bool begins(const struct line *line, const char *word)
{
	size_t size = strlen(word);
	return line->size >= size && strncasecmp(line->at, word, size) == 0;
}

static void skip(struct line *line, size_t size)
{
	line->at += size;
	line->size -= size;
}

static void trim(struct line *line)
{
	while (line->size && (*line->at == ' ' || *line->at == '\t'))
		skip(line, 1);
	while (line->size && (line->at[line->size - 1] == ' ' || line->at[line->size - 1] == '\t'))
		line->size--;
}

static void copy(char *out, size_t room, const struct line *value)
{
	size_t size = value->size < room ? value->size : room - 1;
	memcpy(out, value->at, size);
	out[size] = '\0';
}

/* GET /path?query HTTP/1.1 */
static int parse_first(struct http_request *request, struct line line)
{
	bool get = line.size > 4 && memcmp(line.at, "GET ", 4) == 0;
	request->head = line.size > 5 && memcmp(line.at, "HEAD ", 5) == 0;
	const char *space = memchr(line.at, ' ', line.size);
	if (!space)
		return HTTP_REQUEST_E_BAD;
	skip(&line, (size_t)(space - line.at) + 1);
	const char *stop = memchr(line.at, ' ', line.size);
	if (!stop)
		return HTTP_REQUEST_E_BAD;
	struct line path = {line.at, (size_t)(stop - line.at)};
	skip(&line, path.size + 1);
	if (!begins(&line, "HTTP/1.") || line.size != strlen("HTTP/1.1") || path.size == 0 ||
	    *path.at != '/')
		return HTTP_REQUEST_E_BAD;
	if (!get && !request->head)
		return HTTP_REQUEST_E_METHOD;
	const char *query = memchr(path.at, '?', path.size);
	path.size = query ? (size_t)(query - path.at) : path.size;
	if (path.size >= sizeof(request->path))
		return HTTP_REQUEST_E_PATH;
	copy(request->path, sizeof(request->path), &path);
	return 0;
}

/* Host, twice or too long, is refused: it decides who may ask. */
static int parse_header(struct http_request *request, struct line line)
{
	const char *colon = memchr(line.at, ':', line.size);
	if (!colon || colon == line.at)
		return HTTP_REQUEST_E_BAD;
	struct line name = {line.at, (size_t)(colon - line.at)};
	skip(&line, name.size + 1);
	trim(&line);
	if (name.size == 4 && begins(&name, "host")) {
		if (*request->host || line.size >= sizeof(request->host))
			return HTTP_REQUEST_E_BAD;
		copy(request->host, sizeof(request->host), &line);
	} else if (name.size == 6 && begins(&name, "accept")) {
		copy(request->accept, sizeof(request->accept), &line);
	} else if (name.size == 13 && begins(&name, "authorization") && begins(&line, "bearer ")) {
		skip(&line, strlen("bearer "));
		trim(&line);
		copy(request->token, sizeof(request->token), &line);
	}
	return 0;
}

int http_request_parse(struct http_request *out, const char *data, size_t size)
{
	struct http_request request = {.head = false};
	const char *at = data, *end = data + (size < HTTP_HEAD_MAX ? size : HTTP_HEAD_MAX);
	struct line line;
	unsigned lines = 0;
	while (next_line(&at, end, &line)) {
		if (line.size == 0 && lines == 0)
			return HTTP_REQUEST_E_BAD;
		if (line.size == 0) {
			*out = request;
			return 0;
		}
		if (!is_plain(&line))
			return HTTP_REQUEST_E_BAD;
		if (lines > HTTP_HEADERS_MAX)
			return HTTP_REQUEST_E_LARGE;
		int r = lines++ ? parse_header(&request, line) : parse_first(&request, line);
		if (r)
			return r;
	}
	return size >= HTTP_HEAD_MAX ? HTTP_REQUEST_E_LARGE : HTTP_REQUEST_E_MORE;
}
