// SPDX-License-Identifier: MIT
#include "dataset/shards/brace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 32

struct brace {
	brace_take *take;
	void *context;
};

static int brace_step(const struct brace *brace, const char *text, unsigned depth);

/* The brace that closes the one at `open`, or NULL. */
static const char *brace_close(const char *open)
{
	int depth = 0;
	for (const char *at = open; *at; at++) {
		if (*at == '{')
			depth++;
		else if (*at == '}' && --depth == 0)
			return at;
	}
	return NULL;
}

/* The comma that ends the part at `at`, outside of inner braces, or `end`. */
static const char *brace_part_end(const char *at, const char *end)
{
	int depth = 0;
	for (; at < end; at++) {
		depth += (*at == '{') - (*at == '}');
		if (*at == ',' && depth == 0)
			break;
	}
	return at;
}

/* `before`, a part and `after` as one text, which is expanded further. */
static int brace_join(const struct brace *brace, const char *text, const char *open,
		      const char *part, size_t size, const char *after, unsigned depth)
{
	size_t before = (size_t)(open - text), rest = strlen(after);
	if (before + size + rest > BRACE_TEXT_MAX)
		return BRACE_E_LONG;
	char *joined = malloc(before + size + rest + 1);
	if (!joined)
		return -ENOMEM;
	memcpy(joined, text, before);
	memcpy(joined + before, part, size);
	memcpy(joined + before + size, after, rest + 1);
	int result = brace_step(brace, joined, depth + 1);
	free(joined);
	return result;
}

/* -- {1..9} ----------------------------------------------------------------------------------- */

struct brace_range {
	int64_t first, last, step;
	int width; /* with zeros in front; 0: none */
	bool letters;
};

/* A number of at most 12 digits, up to `end`. */
static bool brace_number(const char *text, const char *end, int64_t *out)
{
	char digits[16];
	size_t size = (size_t)(end - text);
	if (size == 0 || size > 13)
		return false;
	memcpy(digits, text, size);
	digits[size] = '\0';
	char *stop;
	const char *from = digits + (digits[0] == '-');
	if (*from < '0' || *from > '9')
		return false;
	*out = strtoll(digits, &stop, 10);
	return *stop == '\0';
}

static bool brace_is_letter(const char *text, const char *end)
{
	char small = (char)(*text | 0x20);
	return end - text == 1 && small >= 'a' && small <= 'z';
}

/* Is a number written with zeros in front? */
static bool brace_is_padded(const char *text, const char *end)
{
	text += *text == '-';
	return end - text > 1 && *text == '0';
}

/* "FIRST..LAST" or "FIRST..LAST..STEP" between `open` and `close`. */
static bool brace_parse_range(const char *open, const char *close, struct brace_range *out)
{
	const char *first = open + 1, *first_end = strstr(first, "..");
	if (!first_end || first_end >= close)
		return false;
	const char *last = first_end + 2, *last_end = strstr(last, "..");
	struct brace_range range = {.step = 1};
	if (last_end && last_end < close) {
		if (!brace_number(last_end + 2, close, &range.step))
			return false;
	} else {
		last_end = close;
	}
	if (brace_is_letter(first, first_end) && brace_is_letter(last, last_end)) {
		range.letters = true;
		range.first = *first;
		range.last = *last;
	} else if (!brace_number(first, first_end, &range.first) ||
		   !brace_number(last, last_end, &range.last)) {
		return false;
	}
	long wide = first_end - first > last_end - last ? first_end - first : last_end - last;
	if (!range.letters &&
	    (brace_is_padded(first, first_end) || brace_is_padded(last, last_end)))
		range.width = (int)wide;
	range.step = range.step < 0 ? -range.step : range.step;
	range.step = range.step ? range.step : 1;
	*out = range;
	return true;
}

static int brace_expand_range(const struct brace *brace, const char *text, const char *open,
			      const char *close, const struct brace_range *range, unsigned depth)
{
	int64_t step = range->first <= range->last ? range->step : -range->step;
	int result = 0;
	for (int64_t at = range->first; step > 0 ? at <= range->last : at >= range->last;
	     at += step) {
		char number[32];
		int size = range->letters ? snprintf(number, sizeof(number), "%c", (char)at)
					  : snprintf(number, sizeof(number), "%0*" PRId64,
						     range->width, at);
		result = brace_join(brace, text, open, number, (size_t)size, close + 1, depth);
		if (result)
			break;
	}
	return result;
}

/* -- all -------------------------------------------------------------------------------------- */

/* Expand the first braces that stand for something, and what is left in turn. */
static int brace_step(const struct brace *brace, const char *text, unsigned depth)
{
	if (depth > DEPTH_MAX)
		return BRACE_E_LONG;
	for (const char *open = strchr(text, '{'); open; open = strchr(open + 1, '{')) {
		const char *close = brace_close(open);
		struct brace_range range;
		if (!close)
			continue;
		if (brace_parse_range(open, close, &range))
			return brace_expand_range(brace, text, open, close, &range, depth);
		if (brace_part_end(open + 1, close) == close)
			continue;
		int result = 0;
		for (const char *part = open + 1; part <= close && !result;) {
			const char *end = brace_part_end(part, close);
			result = brace_join(brace, text, open, part, (size_t)(end - part),
					    close + 1, depth);
			part = end + 1;
		}
		return result;
	}
	return brace->take(brace->context, text);
}

int brace_expand(const char *pattern, brace_take *take, void *context)
{
	const struct brace brace = {take, context};
	return brace_step(&brace, pattern, 0);
}
