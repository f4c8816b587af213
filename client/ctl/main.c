/* SPDX-License-Identifier: MIT */
/* stokerctl: parses the command line, finds the command and runs it. */
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
	fprintf(file, "usage: stokerctl [--socket PATH] [--json] COMMAND [ARGUMENT...]\n\n"
		      "Watch and tune stokerd, the data-loading daemon of this machine.\n\n");
	for (size_t i = 0; i < n_commands; i++) {
		char left[32];
		snprintf(left, sizeof(left), "%s %s", commands[i].name, commands[i].arguments);
		fprintf(file, "  %-15s %s\n", left, commands[i].help);
	}
	fprintf(file,
		"  help [COMMAND]  show this help, or that of a command; see also man stokerctl\n\n"
		"  --socket PATH   control socket of the daemon; default: $STOKER_CONTROL_SOCKET,\n"
		"                  else control.sock in the folder of the data socket\n"
		"  --json          print JSON, for programs; --version prints the version\n");
}

static int usage(const char *what, const char *name)
{
	fprintf(stderr, "stokerctl: %s%s; see stokerctl --help\n", what, name);
	return EX_USAGE;
}

static int unknown_command(const char *name)
{
	for (size_t i = 0; i < n_commands; i++) {
		if (!nearest_is_like(name, commands[i].name))
			continue;
		fprintf(stderr, "stokerctl: no such command: %s; did you mean %s?\n", name,
			commands[i].name);
		return EX_USAGE;
	}
	return usage("no such command: ", name);
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

/* clang-format off */
#define MEMBER(member) offsetof(struct invocation, member)
/* The options that only some commands have. */
static const struct own {
	char letter;
	const char *name;
	size_t member;
	const char *argument, *help;
} owns[] = {
	{'e', "--epoch", MEMBER(epoch), "E", "epoch, counted from 0"},
	{'p', "--position", MEMBER(position), "P", "position in the epoch over all ranks, from 0"},
	{'o', "--output", MEMBER(output), "FILE", "PNG file to write"},
	{'t', "--transforms", MEMBER(transforms), "T",
	 "such as \"Resize(size=256) | CenterCrop(size=224)\""},
	{'b', "--batch-size", MEMBER(batch_size), "N", "samples in a batch [64]"},
	{'S', "--seconds", MEMBER(seconds), "S", "length of each of the two passes [5]"},
	{'r', "--rows", MEMBER(rows), "N", "rows of images [4]"},
	{'c', "--cols", MEMBER(cols), "N", "columns of images [8]"},
	{'x', "--seed", MEMBER(seed), "S", "seed of order and augmentation [0]"},
	{'l', "--split", MEMBER(split), "SPLIT",
	 "train or test part of a published dataset [train]"},
	{'i', "--interval", MEMBER(interval), "S", "seconds between two updates [1]"},
	{'n', "--name", MEMBER(name), "NAME", "name of the statistics [default]"},
	{'R', "--rescale", MEMBER(rescale), "R", "factor for the pixel values [1]"},
	{'E', "--zca-epsilon", MEMBER(zca_epsilon), "E", "epsilon of --zca [1e-6]"},
	{'P', "--per-pixel", MEMBER(per_pixel), "",
	 "also mean and standard deviation of each pixel"},
	{'z', "--zca", MEMBER(zca), "", "also the matrix for ZCA whitening"},
};
/* clang-format on */
#define OWNS (sizeof(owns) / sizeof(*owns))

static void print_command_help(const struct command *command)
{
	bool own = *command->options;
	printf("usage: stokerctl %s%s%s%s\n\n%s\n%s", command->name, *command->arguments ? " " : "",
	       command->arguments, own ? " [OPTION...]" : "", command->help, own ? "\n" : "");
	for (size_t i = 0; i < OWNS; i++) {
		char left[32];
		snprintf(left, sizeof(left), "%s %s", owns[i].name, owns[i].argument);
		if (strchr(command->options, owns[i].letter))
			printf("  %-17s %s\n", left, owns[i].help);
	}
	printf("\nAll commands take --socket PATH and --json; see man stokerctl.\n");
}

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

/* An option that the command does not have is an error. */
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
	if (!command)
		return unknown_command(name);
	if (invocation->help) {
		print_command_help(command);
		return EX_OK;
	}
	snprintf(expected, sizeof(expected), "%s %s", command->name,
		 *command->arguments ? command->arguments : "takes no arguments");
	if (n_arguments != command->n_arguments)
		return usage(*command->arguments ? "usage: stokerctl " : "", expected);
	int status = check_options(command, invocation);
	if (status)
		return status;
	return command->run(command, invocation);
}

/* Fills in the options. 0; or the exit status plus 1, if the program ends here. */
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
		{"interval", required_argument, NULL, 'i'},
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
			out->help = true;
			break;
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
	if (optind < argc && strcmp(argv[optind], "help") == 0) {
		invocation.help = true;
		optind++;
	}
	if (optind == argc) {
		print_help(invocation.help ? stdout : stderr);
		return finish(invocation.help ? EX_OK : EX_USAGE);
	}
	invocation.arguments = argv + optind + 1;
	return finish(run(argv[optind], &invocation, argc - optind - 1));
}
