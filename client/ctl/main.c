/* SPDX-License-Identifier: MIT */
/* stokerctl: parse, find the command, run it. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "client/ctl/command.h"
#include "client/ctl/nearest.h"

static void print_help(FILE *file)
{
	fprintf(file,
		"usage: stokerctl [--socket PATH] [--json] COMMAND [ARGUMENT...]\n\n"
		"Watch and tune the stokerd that serves this machine's training processes.\n\n");
	for (size_t i = 0; i < n_commands; i++) {
		char left[32];
		snprintf(left, sizeof(left), "%s %s", commands[i].name, commands[i].arguments);
		fprintf(file, "  %-15s %s\n", left, commands[i].help);
	}
	fprintf(file,
		"  help            this text; more: man stokerctl\n\n"
		"  --socket PATH   the daemon's control socket; else $STOKER_CONTROL_SOCKET, or\n"
		"                  control.sock where clients look for the data socket\n"
		"  --json          print JSON, for programs\n"
		"  --version       print the version\n");
}

static int usage(const char *what, const char *name)
{
	fprintf(stderr, "stokerctl: %s%s; stokerctl --help shows what there is\n", what, name);
	return EX_USAGE;
}

static int unknown_command(const char *name)
{
	for (size_t i = 0; i < n_commands; i++) {
		if (!nearest_is_like(name, commands[i].name))
			continue;
		fprintf(stderr, "stokerctl: there is no command %s; did you mean %s?\n", name,
			commands[i].name);
		return EX_USAGE;
	}
	return usage("there is no such command: ", name);
}

/* A full disk or a closed pipe must not look like success. */
static int finish(int status)
{
	int failed = ferror(stdout);
	if (fclose(stdout) || failed) {
		perror("stokerctl: cannot write");
		return status ? status : EX_IOERR;
	}
	return status;
}

/* Options of single commands. */
static const struct own {
	char letter;
	const char *name;
	size_t member;
} owns[] = {
	{'e', "--epoch", offsetof(struct invocation, epoch)},
	{'p', "--position", offsetof(struct invocation, position)},
	{'o', "--output", offsetof(struct invocation, output)},
	{'t', "--transforms", offsetof(struct invocation, transforms)},
	{'b', "--batch-size", offsetof(struct invocation, batch_size)},
	{'S', "--seconds", offsetof(struct invocation, seconds)},
	{'r', "--rows", offsetof(struct invocation, rows)},
	{'c', "--cols", offsetof(struct invocation, cols)},
	{'x', "--seed", offsetof(struct invocation, seed)},
	{'l', "--split", offsetof(struct invocation, split)},
	{'n', "--name", offsetof(struct invocation, name)},
	{'R', "--rescale", offsetof(struct invocation, rescale)},
	{'E', "--zca-epsilon", offsetof(struct invocation, zca_epsilon)},
	{'P', "--per-pixel", offsetof(struct invocation, per_pixel)},
	{'z', "--zca", offsetof(struct invocation, zca)},
};
#define OWNS (sizeof(owns) / sizeof(*owns))

static const char **value_of(struct invocation *invocation, size_t member)
{
	return (const char **)((char *)invocation + member);
}

static size_t member_of(int letter)
{
	for (size_t i = 0; i < OWNS; i++) {
		if (owns[i].letter == letter)
			return owns[i].member;
	}
	return offsetof(struct invocation, socket);
}

/* An option that means nothing to the command is an error. */
static int check_options(const struct command *command, struct invocation *invocation)
{
	for (size_t i = 0; i < OWNS; i++) {
		char words[128];
		if (!*value_of(invocation, owns[i].member) ||
		    strchr(command->options, owns[i].letter))
			continue;
		size_t size = (size_t)snprintf(words, sizeof(words), "%s is for", owns[i].name);
		for (size_t j = 0; j < n_commands && size < sizeof(words); j++) {
			if (strchr(commands[j].options, owns[i].letter))
				size += (size_t)snprintf(words + size, sizeof(words) - size, " %s,",
							 commands[j].name);
		}
		if (size < sizeof(words))
			snprintf(words + size, sizeof(words) - size, " not for ");
		return usage(words, command->name);
	}
	return 0;
}

static int run(const char *name, struct invocation *invocation, int n_arguments)
{
	const struct command *command = command_find(name);
	char expected[64];
	if (strcmp(name, "help") == 0) {
		print_help(stdout);
		return EX_OK;
	}
	if (!command)
		return unknown_command(name);
	snprintf(expected, sizeof(expected), "%s %s", command->name,
		 *command->arguments ? command->arguments : "takes no arguments");
	if (n_arguments != command->n_arguments)
		return usage(*command->arguments ? "it is: stokerctl " : "", expected);
	int status = check_options(command, invocation);
	if (status)
		return status;
	return command->run(command, invocation);
}

/* The options' values; 0, or the exit status plus one of what ends the program here. */
static int parse(int argc, char **argv, struct invocation *out)
{
	static const struct option options[] = {
		{"socket", required_argument, NULL, 's'},
		{"epoch", required_argument, NULL, 'e'},
		{"position", required_argument, NULL, 'p'},
		{"output", required_argument, NULL, 'o'},
		{"transforms", required_argument, NULL, 't'},
		{"batch-size", required_argument, NULL, 'b'},
		{"seconds", required_argument, NULL, 'S'},
		{"rows", required_argument, NULL, 'r'},
		{"cols", required_argument, NULL, 'c'},
		{"seed", required_argument, NULL, 'x'},
		{"split", required_argument, NULL, 'l'},
		{"name", required_argument, NULL, 'n'},
		{"rescale", required_argument, NULL, 'R'},
		{"zca-epsilon", required_argument, NULL, 'E'},
		{"per-pixel", no_argument, NULL, 'P'},
		{"zca", no_argument, NULL, 'z'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{0},
	};
	int option;
	while ((option = getopt_long(argc, argv, "s:e:p:o:t:b:jhV", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			out->json = true;
			break;
		case 'h':
			print_help(stdout);
			return 1 + EX_OK;
		case 'V':
			printf("stokerctl %s\n", STOKER_VERSION);
			return 1 + EX_OK;
		case '?': /* getopt_long() has said what is wrong */
			return 1 + EX_USAGE;
		default:
			*value_of(out, member_of(option)) = optarg ? optarg : "";
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
	struct invocation invocation = {
		.bold = isatty(STDOUT_FILENO) && !(no_color && *no_color) && terminal &&
			strcmp(terminal, "dumb") != 0,
	};
	int ended = parse(argc, argv, &invocation);
	if (ended)
		return finish(ended - 1);
	if (optind == argc) {
		print_help(stderr);
		return EX_USAGE;
	}
	invocation.arguments = argv + optind + 1;
	return finish(run(argv[optind], &invocation, argc - optind - 1));
}
