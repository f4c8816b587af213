// SPDX-License-Identifier: MIT
#include "storage/remote/response.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* A text behind its name, without the white space around it. */
struct header_value {
	const char *text;
	size_t size;
};

static void copy_text(char out[RESPONSE_TEXT_MAX + 1], const struct header_value *value)
{
	size_t size = value->size < RESPONSE_TEXT_MAX ? value->size : RESPONSE_TEXT_MAX;
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)value->text[i];
		out[i] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
	}
	out[size] = '\0';
}

/* A decimal number at the front of the value; false if there is none or it is too large. */
static bool take_number(struct header_value *value, uint64_t *out)
{
	uint64_t number = 0;
	size_t at = 0;
	for (; at < value->size && isdigit((unsigned char)value->text[at]); at++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(value->text[at] - '0'), &number))
			return false;
	}
	if (at == 0)
		return false;
	value->text += at;
	value->size -= at;
	*out = number;
	return true;
}

static bool take_text(struct header_value *value, const char *text)
{
	size_t size = strlen(text);
	if (value->size < size || strncasecmp(value->text, text, size) != 0)
		return false;
	value->text += size;
	value->size -= size;
	return true;
}

/* "bytes 0-99/1000", "bytes 0-99/ *". */
static void take_range(struct response *response, struct header_value value)
{
	uint64_t first, last, total = STORAGE_TO_END;
	if (!take_text(&value, "bytes ") || !take_number(&value, &first) ||
	    !take_text(&value, "-") || !take_number(&value, &last) || !take_text(&value, "/"))
		return;
	if (!take_text(&value, "*") && (!take_number(&value, &total) || last >= total))
		return;
	response->has_range = value.size == 0 && first <= last;
	response->first = first;
	response->last = last;
	response->total = total;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT": the form that servers have to use. */
static void take_date(struct response *response, struct header_value value)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	char text[RESPONSE_TEXT_MAX + 1], month[4];
	struct tm tm = {0};
	copy_text(text, &value);
	const char *comma = strchr(text, ',');
	if (!comma || sscanf(comma + 1, "%2d %3s %4d %2d:%2d:%2d GMT", &tm.tm_mday, month,
			     &tm.tm_year, &tm.tm_hour, &tm.tm_min, &tm.tm_sec) != 6)
		return;
	const char *found = strstr(months, month);
	if (!found || strlen(month) != 3 || (found - months) % 3 != 0)
		return;
	tm.tm_mon = (int)(found - months) / 3;
	tm.tm_year -= 1900;
	response->modified = timegm(&tm);
	response->has_modified = response->modified != -1;
}

/* One that is weak says nothing about bytes. */
static void take_tag(struct response *response, const struct header_value *value)
{
	response->has_tag = value->size > 2 && value->text[0] == '"';
	response->tag = digest_of(value->text, value->size);
}

static void take_header(struct response *response, const char *name, size_t name_size,
			struct header_value value)
{
	struct header_value rest = value;
#define IS(text) (name_size == sizeof(text) - 1 && strncasecmp(name, text, name_size) == 0)
	if (IS("content-length"))
		response->has_length = take_number(&rest, &response->length) && rest.size == 0;
	else if (IS("content-range"))
		take_range(response, value);
	else if (IS("etag"))
		take_tag(response, &value);
	else if (IS("last-modified"))
		take_date(response, value);
	else if (IS("content-encoding"))
		response->encoded = !take_text(&rest, "identity");
	else if (IS("content-type"))
		copy_text(response->type, &value);
	else if (IS("x-amz-bucket-region"))
		copy_text(response->region, &value);
	else if (IS("retry-after") && !take_number(&rest, &response->retry_after))
		response->retry_after = 0;
#undef IS
}

void response_take(struct response *response, const char *line, size_t size)
{
	while (size && strchr(" \t\r\n", line[size - 1]) && line[size - 1])
		size--;
	const char *colon = memchr(line, ':', size);
	struct header_value rest = {line, size};
	if (take_text(&rest, "HTTP/")) {
		const char *space = memchr(line, ' ', size);
		uint64_t status = 0;
		*response = (struct response){.status = 0};
		rest = (struct header_value){space, space ? size - (size_t)(space - line) : 0};
		if (space && take_text(&rest, " ") && take_number(&rest, &status) && status < 1000)
			response->status = (unsigned)status;
		return;
	}
	if (!colon)
		return;
	struct header_value value = {colon + 1, size - (size_t)(colon + 1 - line)};
	while (value.size && (*value.text == ' ' || *value.text == '\t')) {
		value.text++;
		value.size--;
	}
	take_header(response, line, (size_t)(colon - line), value);
}

int response_version(const struct response *response, uint64_t size, struct storage_version *out,
		     struct fault *fault)
{
	struct storage_version version = {.size = size};
	if (!response->has_tag && !response->has_modified)
		return fault_say(fault, STORAGE_E_READ,
				 "the server says neither its ETag nor Last-Modified, so nothing "
				 "would tell that the object was changed: have it send one");
	if (response->has_tag) {
		memcpy(&version.inode, response->tag.bytes, sizeof(version.inode));
		memcpy(&version.ctime_ns, response->tag.bytes + 8, sizeof(version.ctime_ns));
	} else {
		version.mtime_ns = (int64_t)((uint64_t)response->modified * 1000000000u);
	}
	*out = version;
	return 0;
}
