/* SPDX-License-Identifier: MIT */
/* stokerctl: parses the command line, finds the command and runs it. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "client/c/fault.h"
#include "client/ctl/command.h"
#include "client/ctl/nearest.h"
#include "client/ctl/options.h"

/* The line of a command, or of its group; none if an earlier line has it. */
static void print_line(FILE *file, const struct command *first)
{
	char left[64];
	if (first->group && !*first->group)
		return;
	int used = snprintf(left, sizeof(left), "%s%s%s", first->name, *first->arguments ? " " : "",
			    first->arguments);
	for (const struct command *next = first + 1;
	     next < commands + n_commands && next->group && !*next->group; next++)
		used += snprintf(left + used, sizeof(left) - (size_t)used, ", %s", next->name);
	fprintf(file, "  %-15s %s\n", left, first->group ? first->group : first->help);
}

static void print_help(FILE *file)
{
	fprintf(file, "usage: stokerctl [--socket PATH] [--json] COMMAND [ARGUMENT...]\n\n"
		      "Watch and tune stokerd, the data-loading daemon of this machine.\n\n");
	for (size_t i = 0; i < n_commands; i++)
		print_line(file, &commands[i]);
	fprintf(file,
		"  help [COMMAND]  show this help, or that of a command; see also man stokerctl\n\n"
		"  --socket PATH   control socket [$STOKER_CONTROL_SOCKET, or beside the data's]\n"
		"  --json          print JSON, for programs; --version prints the version\n");
}

static int usage(const char *what, const char *name)
{
	struct fault fault;
	fault_say(&fault, 0, "%s%s; see stokerctl --help", what, name);
	fprintf(stderr, "stokerctl: %s\n", fault.text);
	return EX_USAGE;
}

static int unknown_command(const char *name)
{
	for (size_t i = 0; i < n_commands; i++) {
		if (!nearest_is_like(name, commands[i].name))
			continue;
		struct fault fault;
		fault_say(&fault, 0, "no such command: %s; did you mean %s?", name,
			  commands[i].name);
		fprintf(stderr, "stokerctl: %s\n", fault.text);
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

#define DIGITS "0::1::2::3::4::5::6::7::8::9::"
#define OPTIONS_MAX 32

static void print_command_help(const struct command *command)
{
	bool own = *command->options;
	printf("usage: stokerctl %s%s%s%s\n\n%s\n%s", command->name, *command->arguments ? " " : "",
	       command->arguments, own ? " [OPTION...]" : "", command->help, own ? "\n" : "");
	for (size_t i = 0; i < n_own_options; i++) {
		char left[32];
		snprintf(left, sizeof(left), "%s %s", own_options[i].name, own_options[i].argument);
		if (strchr(command->options, own_options[i].letter))
			printf("  %-17s %s\n", left, own_options[i].help);
	}
	printf("\nAll commands take --socket PATH and --json; see man stokerctl.\n");
}

static const char **value_of(struct invocation *invocation, size_t member)
{
	return (const char **)((char *)invocation + member);
}

static size_t member_of(int letter)
{
	for (size_t i = 0; i < n_own_options; i++) {
		if (own_options[i].letter == letter)
			return own_options[i].member;
	}
	return offsetof(struct invocation, socket);
}

/* An option that the command does not have is an error. */
static int check_options(const struct command *command, struct invocation *invocation)
{
	for (size_t i = 0; i < n_own_options; i++) {
		char words[128];
		if (!*value_of(invocation, own_options[i].member) ||
		    strchr(command->options, own_options[i].letter))
			continue;
		size_t size =
			(size_t)snprintf(words, sizeof(words), "%s is for", own_options[i].name);
		for (size_t j = 0; j < n_commands && size < sizeof(words); j++) {
			if (strchr(commands[j].options, own_options[i].letter))
				size += (size_t)snprintf(words + size, sizeof(words) - size, " %s,",
							 commands[j].name);
		}
		if (size < sizeof(words))
			snprintf(words + size, sizeof(words) - size, " not for ");
		return usage(words, command->name);
	}
	return 0;
}

static char *next_argument(struct invocation *invocation)
{
	invocation->n_arguments--;
	return *invocation->arguments++;
}

static int run(const char *name, struct invocation *invocation)
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
	bool optional = *command->arguments == '[' && invocation->n_arguments == 0;
	if (invocation->n_arguments != command->n_arguments && !optional)
		return usage(*command->arguments ? "usage: stokerctl " : "", expected);
	int status = check_options(command, invocation);
	if (status)
		return status;
	return command->run(command, invocation);
}

/* Fills in the options. 0; or the exit status plus 1, if the program ends here. */
static int parse(int argc, char **argv, struct invocation *out)
{
	struct option options[OPTIONS_MAX] = {
		{"socket", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
	};
	_Static_assert(OPTIONS_MAX > 4 + 19, "room for all, and an empty one behind the last");
	for (size_t i = 0; i < n_own_options; i++)
		options[4 + i] =
			(struct option){own_options[i].name + 2,
					*own_options[i].argument ? required_argument : no_argument,
					NULL, own_options[i].letter};
	int option;
	while ((option = getopt_long(argc, argv, "-s:e:p:o:t:b:jhV" DIGITS, options, NULL)) != -1) {
		if (option >= '0' && option <= '9') { /* a negative number is an argument, too */
			out->arguments[out->n_arguments++] = argv[optind - 1];
			continue;
		}
		switch (option) {
		case 1: /* no option */
			out->arguments[out->n_arguments++] = optarg;
			break;
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
	while (optind < argc) /* behind "--" */
		out->arguments[out->n_arguments++] = argv[optind++];
	return 0;
}

int main(int argc, char **argv)
{
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
	struct invocation invocation = {
		.arguments = argv + 1, /* where they are put as they are found */
		.bold = isatty(STDOUT_FILENO) && !(no_color && *no_color) && terminal &&
			strcmp(terminal, "dumb") != 0,
	};
	int ended = parse(argc, argv, &invocation);
	if (ended)
		return finish(ended - 1);
	if (invocation.n_arguments && strcmp(invocation.arguments[0], "help") == 0) {
		invocation.help = true;
		next_argument(&invocation);
	}
	if (invocation.n_arguments == 0) {
		print_help(invocation.help ? stdout : stderr);
		return finish(invocation.help ? EX_OK : EX_USAGE);
	}
	const char *name = next_argument(&invocation);
	return finish(run(name, &invocation));
}
