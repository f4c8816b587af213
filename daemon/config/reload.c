// SPDX-License-Identifier: MIT
#include "config/reload.h"

#include <string.h>

#include "config/option.h"

void reload_take(struct config *config, struct config *other)
{
	for (unsigned i = 0; i < option_count; i++) {
		if (!options[i].live)
			continue;
		option_exchange(&options[i], config, other);
		char *origin = config->origins[i];
		config->origins[i] = other->origins[i];
		other->origins[i] = origin;
	}
}

/* A list in one line. */
static void reload_join(char *text)
{
	for (char *at = text; (at = strchr(at, '\n'));)
		*at = ' ';
}

void reload_compare(const struct config *config, const struct config *other, reload_seen *seen,
		    void *context)
{
	for (unsigned i = 0; i < option_count; i++) {
		char now[OPTION_TEXT_MAX], then[OPTION_TEXT_MAX];
		bool live = options[i].live;
		option_format(&options[i], config, now);
		option_format(&options[i], other, then);
		if (strcmp(now, then) == 0)
			continue;
		reload_join(now);
		reload_join(then);
		const struct reload_change change = {
			.name = options[i].name,
			.before = live ? then : now,
			.after = live ? now : then,
			.origin = (live ? config : other)->origins[i],
			.in_force = live,
			.was_set = strcmp((live ? other : config)->origins[i], CONFIG_SET) == 0,
		};
		seen(context, &change);
	}
}
