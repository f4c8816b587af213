/* SPDX-License-Identifier: MIT */
#include "client/ctl/show/history.h"

#include <stdlib.h>
#include <string.h>

static size_t kept(const struct history *history)
{
	return history->count < HISTORY_MOST ? history->count : HISTORY_MOST;
}

void history_add(struct history *history, double value)
{
	history->values[history->count++ % HISTORY_MOST] = value > 0 ? value : 0;
}

double history_highest(const struct history *history)
{
	double highest = 0;
	for (size_t i = 0; i < kept(history); i++)
		highest = history->values[i] > highest ? history->values[i] : highest;
	return highest;
}

void history_print(FILE *file, const struct history *history, bool utf8)
{
	static const char *const blocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
					     "\u2585", "\u2586", "\u2587", "\u2588"};
	static const char *const plain[] = {" ", "_", ".", "-", "~", "=", "+", "*", "#"};
	double highest = history_highest(history);
	size_t first = history->count - kept(history);
	for (size_t i = first; i < history->count; i++) {
		double share = highest > 0 ? history->values[i % HISTORY_MOST] / highest : 0;
		int level = share > 0 ? 1 + (int)(share * 7.999) : 0;
		level = level > 8 ? 8 : level;
		fputs((utf8 ? blocks : plain)[level], file);
	}
}

bool history_terminal_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = getenv(names[i]);
		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}
