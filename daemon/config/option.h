/* SPDX-License-Identifier: MIT */
/*
 * The table of options, one row each: find a row by its name, set its member of struct config from
 * a text, write that member as a text. Immutable; any thread.
 */
#ifndef STOKER_CONFIG_OPTION_H
#define STOKER_CONFIG_OPTION_H

#include <stdbool.h>

#include "config.h"
#include "config/quantity.h"

enum option_type {
	OPTION_QUANTITY,
	OPTION_SOCKET, /* an absolute path, short enough for a socket */
	OPTION_SOCKET_OR_NONE,
	OPTION_FOLDER,	/* an absolute path, also of a file, or empty */
	OPTION_GROUP,	/* name or number of a group, or empty */
	OPTION_WORD,	/* one of the row's words */
	OPTION_ROOTS,	/* rules, each value adds one; see config/roots.h */
	OPTION_CPUS,	/* a list of processors, see config/cpus.h */
	OPTION_ADDRESS, /* a numeric address of IPv4 or IPv6 */
};

struct option {
	const char *name;     /* of the flag and the key; STOKER_<NAME> in the environment */
	const char *argument; /* for --help */
	const char *help;
	const char *initial;			 /* the default, as a text; or ... */
	void (*compute)(char *out, size_t size); /* ... it depends on the machine */
	const char *unset;			 /* for --help: what an empty default means */
	size_t offset, size;			 /* of the member */
	enum option_type type;
	bool live; /* can be changed while the daemon runs */
	struct quantity_range range;
	const struct option_word {
		const char *word; /* NULL: the end */
		unsigned value;
	} * words;
};

#define OPTION_TEXT_MAX 4096

enum {
	OPTION_E_BAD = 1, /* not a value of this option; the words do not name the option */
};

extern const struct option options[];
extern const unsigned option_count;

/* The row of this name, or NULL: then the words suggest the nearest name. */
const struct option *option_find(const char *name, struct fault *fault);
unsigned option_row(const struct option *option);
/* Has nobody chosen a value of the option of this name? */
bool option_is_default(const char *name, const struct config *config);
/* 0, OPTION_E_BAD or -ENOMEM; on failure nothing changed, but for a list. */
int option_set(const struct option *option, struct config *config, const char *text,
	       struct fault *fault);
/* The two configurations exchange this value. */
void option_exchange(const struct option *option, struct config *config, struct config *other);
/* Does it become a list, to which each value adds? */
bool option_is_list(const struct option *option);
/* The value as a text that option_set() accepts, of a list one value a line; `out` has
 * OPTION_TEXT_MAX bytes. */
const char *option_format(const struct option *option, const struct config *config, char *out);
void option_default(const struct option *option, char *out);
/* STOKER_<NAME>; `out` has 64 bytes. */
const char *option_variable(const struct option *option, char *out);

#endif
