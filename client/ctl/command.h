/* SPDX-License-Identifier: MIT */
/*
 * The table of commands: a row has arguments, help, options and the function that runs it. A
 * command asks the daemon, prints to stdout, and returns an exit status of sysexits.h. A failure is
 * explained on stderr (and, with --json, as {"error": ...} on stdout).
 */
#ifndef STOKER_CTL_COMMAND_H
#define STOKER_CTL_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct control;

struct invocation {
	const char *socket; /* NULL: the default places */
	bool json, help;
	bool bold;	  /* stdout is a terminal that can show it */
	char **arguments; /* after the name of the command */
	int n_arguments;
	/* Options that only some commands have; NULL: not given. */
	const char *epoch, *position, *output;
	const char *transforms, *batch_size, *seconds;
	const char *rows, *cols, *seed, *split, *kind;
	const char *name, *rescale, *zca_epsilon;
	const char *interval, *stream;
	const char *per_pixel, *zca, *exif; /* flags: not NULL if given */
};

struct command {
	const char *name, *arguments, *help;
	const char *options; /* letters of its own ones, as in main.c */
	int n_arguments;     /* or none, if `arguments` is in brackets */
	int (*run)(const struct command *command, const struct invocation *invocation);
	/* The help of all commands has one line for this one and those after it whose group is "".
	 * NULL: a line of its own. */
	const char *group;
	/* Of one that asks for values and prints them. 0, and the caller owns the values; or a
	 * negative errno, explained in control->fault. */
	int (*ask)(struct control *control, const struct invocation *invocation,
		   json_t **values_out);
	void (*print)(FILE *file, const json_t *values);
};

extern const struct command commands[];
extern const size_t n_commands;

const struct command *command_find(const char *name); /* or NULL */

#endif
