// SPDX-License-Identifier: MIT
#include "config/flags.h"

#include <string.h>

#include "base/quote.h"

static bool flags_take_action(struct flags *flags, const char *flag)
{
	static const char *const names[] = {
		[FLAGS_CHECK] = "--check",
		[FLAGS_PRINT] = "--print-config",
		[FLAGS_HELP] = "--help",
		[FLAGS_VERSION] = "--version",
	};
	for (enum flags_action i = FLAGS_CHECK; i <= FLAGS_VERSION; i++) {
		if (strcmp(flag, names[i]) == 0 || (i == FLAGS_HELP && strcmp(flag, "-h") == 0)) {
			flags->action = i > flags->action ? i : flags->action;
			return true;
		}
	}
	return false;
}

/* Take one flag and its value, which may be the next argument; *at moves behind them. */
static int flags_take_one(struct flags *flags, int argc, char **argv, int *at, struct fault *fault)
{
	struct quote quote;
	struct fault why;
	const char *flag = argv[(*at)++];
	char name[64];
	const char *equals = strchr(flag, '=');
	size_t size = equals ? (size_t)(equals - flag) : strlen(flag);
	if (strncmp(flag, "--", 2) != 0 || size < 3 || size - 2 >= sizeof(name))
		return fault_say(fault, CONFIG_E_USAGE,
				 "'%s' is not an option: all begin with --, see stokerd --help",
				 quote_text(&quote, flag));
	memcpy(name, flag + 2, size - 2);
	name[size - 2] = '\0';
	const struct option *option = strcmp(name, "config") == 0 ? NULL : option_find(name, &why);
	if (!option && strcmp(name, "config") != 0)
		return fault_say(fault, CONFIG_E_USAGE, "%s", why.text);
	const char *value = equals ? equals + 1 : *at < argc ? argv[(*at)++] : NULL;
	if (!value)
		return fault_say(fault, CONFIG_E_USAGE, "--%s needs a value", name);
	if (option && flags->count == FLAGS_MAX)
		return fault_say(fault, CONFIG_E_USAGE,
				 "more than %d options: put some into the configuration",
				 FLAGS_MAX);
	if (option)
		flags->given[flags->count++] = (struct flag){option, value};
	else
		flags->config = value;
	return 0;
}

int flags_take(struct flags *flags, int argc, char **argv, struct fault *fault)
{
	for (int at = 1; at < argc;) {
		if (flags_take_action(flags, argv[at])) {
			at++;
			continue;
		}
		int result = flags_take_one(flags, argc, argv, &at, fault);
		if (result)
			return result;
	}
	return 0;
}
