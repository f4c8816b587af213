/* SPDX-License-Identifier: MIT */
/*
 * The commands: a row each, with its arguments, its line of help and what runs it. A command asks
 * the daemon, prints to stdout, and returns an exit status of sysexits.h; words on a failure go to
 * stderr (and, with --json, as {"error": ...} to stdout).
 */
#ifndef STOKER_CTL_COMMAND_H
#define STOKER_CTL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct invocation {
	const char *socket; /* NULL: the usual places */
	bool json, help;
	bool bold;	  /* stdout is a terminal that may have it */
	char **arguments; /* behind the command's name */
	/* Options of single commands; NULL: not given. */
	const char *epoch, *position, *output;
	const char *transforms, *batch_size, *seconds;
	const char *rows, *cols, *seed, *split;
	const char *name, *rescale, *zca_epsilon;
	const char *interval;
	const char *per_pixel, *zca; /* flags: any text is yes */
};

struct command {
	const char *name, *arguments, *help;
	const char *options; /* a letter each of those that not every command takes */
	int n_arguments;
	int (*run)(const struct command *command, const struct invocation *invocation);
};

extern const struct command commands[];
extern const size_t n_commands;

const struct command *command_find(const char *name); /* or NULL */

#endif
