/* SPDX-License-Identifier: MIT */
#include "client/ctl/completions.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "client/ctl/command.h"
#include "client/ctl/options.h"

/* Commands that the scripts run: for settings that can be changed, and numbers of streams. */
#define SETTINGS "stokerd --help 2>/dev/null | sed -n 's/^  --\\([a-z-]*\\) .* \\* \\[.*/\\1/p'"
#define STREAMS "stokerctl streams 2>/dev/null | awk 'NR > 1 { print $1 }'"
#define KINDS "folder flat manifest npy npz cifar10 cifar100 mnist"
#define HEAD "# Made by `stokerctl completions %s`.\n"

/* In single quotes of a shell; characters of `special` get a backslash. */
static void print_quoted(FILE *file, const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'') {
			fputs("'\\''", file);
			continue;
		}
		if (strchr(special, *text))
			fputc('\\', file);
		fputc(*text, file);
	}
}

static bool takes_path(const struct command *command)
{
	return strstr(command->arguments, "DATASET") != NULL;
}

static bool option_is_of(const struct own_option *option, const struct command *command)
{
	return strchr(command->options, option->letter) != NULL;
}

/* -- bash ----------------------------------------------------------------------------------- */

static void bash_command(FILE *file, const struct command *command)
{
	fprintf(file, "\t%s)\n\t\toptions=\"", command->name);
	for (size_t i = 0; i < n_own_options; i++)
		if (option_is_of(&own_options[i], command))
			fprintf(file, "%s ", own_options[i].name);
	fputs("\"\n", file);
	if (takes_path(command))
		fputs("\t\tCOMPREPLY=($(compgen -f -- \"$word\"))\n", file);
	if (strcmp(command->name, "cache") == 0)
		fputs("\t\t[[ $before != cache ]] || words=\"warm pin unpin\"\n", file);
	else if (strcmp(command->name, "set") == 0)
		fputs("\t\t[[ $before != set ]] || words=$(" SETTINGS ")\n", file);
	else if (strcmp(command->name, "replay") == 0)
		fputs("\t\twords=$(" STREAMS ")\n", file);
	else if (strcmp(command->name, "completions") == 0)
		fputs("\t\twords=\"bash zsh fish\"\n", file);
	fputs("\t\t;;\n", file);
}

static void print_bash(FILE *file, const struct command *commands, size_t count)
{
	fputs("_stokerctl() {\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
	      "\tlocal command= options= words= i\n"
	      "\tCOMPREPLY=()\n"
	      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "\t\tcase ${COMP_WORDS[i]} in\n\t\t--socket",
	      file);
	for (size_t i = 0; i < n_own_options; i++)
		if (*own_options[i].argument)
			fprintf(file, " | %s", own_options[i].name);
	fputs(") ((i++)) ;;\n"
	      "\t\t-* | help) ;;\n"
	      "\t\t*) command=${COMP_WORDS[i]}; break ;;\n"
	      "\t\tesac\n"
	      "\tdone\n"
	      "\tcase $before in\n"
	      "\t--socket | --output) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
	      "\t--kind) COMPREPLY=($(compgen -W \"" KINDS "\" -- \"$word\")); return ;;\n"
	      "\tesac\n"
	      "\tcase $command in\n"
	      "\t'') words=\"help",
	      file);
	for (size_t i = 0; i < count; i++)
		fprintf(file, " %s", commands[i].name);
	fputs("\" options=--version ;;\n", file);
	for (size_t i = 0; i < count; i++)
		bash_command(file, &commands[i]);
	fputs("\tesac\n"
	      "\t[[ $word != -* ]] || words=\"$options --socket --json --help\"\n"
	      "\tCOMPREPLY+=($(compgen -W \"$words\" -- \"$word\"))\n"
	      "}\n"
	      "complete -o filenames -F _stokerctl stokerctl\n",
	      file);
}

/* -- zsh ------------------------------------------------------------------------------------ */

static void zsh_command(FILE *file, const struct command *command)
{
	fprintf(file, "\t(%s)\n\t\t_arguments $common", command->name);
	for (size_t i = 0; i < n_own_options; i++) {
		const struct own_option *option = &own_options[i];
		if (!option_is_of(option, command))
			continue;
		fprintf(file, " \\\n\t\t\t'%s[", option->name);
		print_quoted(file, option->help, "[]:");
		fputc(']', file);
		if (*option->argument)
			fprintf(file, ":%s:%s", option->argument,
				option->letter == 'o'	? "_files"
				: option->letter == 'k' ? "(" KINDS ")"
							: "");
		fputc('\'', file);
	}
	if (strcmp(command->name, "cache") == 0)
		fputs(" \\\n\t\t\t'1:what:(warm pin unpin)' '2:dataset:_files'", file);
	else if (takes_path(command))
		fputs(" \\\n\t\t\t'1:dataset:_files'", file);
	else if (strcmp(command->name, "set") == 0)
		fputs(" \\\n\t\t\t\"1:setting:($(" SETTINGS "))\" '2:value:'", file);
	else if (strcmp(command->name, "replay") == 0)
		fputs(" \\\n\t\t\t\"1:stream:($(" STREAMS "))\"", file);
	else if (strcmp(command->name, "completions") == 0)
		fputs(" \\\n\t\t\t'1:shell:(bash zsh fish)'", file);
	fputs("\n\t\t;;\n", file);
}

static void print_zsh(FILE *file, const struct command *commands, size_t count)
{
	fputs("local -a commands common\n"
	      "local state line context\n"
	      "common=('--socket[control socket]:path:_files' '--json[print JSON]' '--help[show "
	      "help]')\n"
	      "commands=(\n\t'help:show help'\n",
	      file);
	for (size_t i = 0; i < count; i++) {
		fprintf(file, "\t'%s:", commands[i].name);
		print_quoted(file, commands[i].help, ":");
		fputs("'\n", file);
	}
	fputs(")\n"
	      "_arguments -C $common '--version[print the version]' '1:command:->command' "
	      "'*::argument:->argument'\n"
	      "case $state in\n"
	      "(command) _describe command commands ;;\n"
	      "(argument)\n\tcase $words[1] in\n",
	      file);
	for (size_t i = 0; i < count; i++)
		zsh_command(file, &commands[i]);
	fputs("\tesac\n\t;;\nesac\n", file);
}

/* -- fish ----------------------------------------------------------------------------------- */

static void fish_command(FILE *file, const struct command *command)
{
	fprintf(file, "complete -c stokerctl -n __fish_use_subcommand -f -a %s -d '",
		command->name);
	print_quoted(file, command->help, "");
	fputs("'\n", file);
	for (size_t i = 0; i < n_own_options; i++) {
		const struct own_option *option = &own_options[i];
		if (!option_is_of(option, command))
			continue;
		fprintf(file,
			"complete -c stokerctl -n '__fish_seen_subcommand_from %s' -l %s%s -d '",
			command->name, option->name + 2,
			option->letter == 'o'	? " -r"
			: option->letter == 'k' ? " -x -a '" KINDS "'"
			: *option->argument	? " -x"
						: "");
		print_quoted(file, option->help, "");
		fputs("'\n", file);
	}
}

static void print_fish(FILE *file, const struct command *commands, size_t count)
{
	fputs("complete -c stokerctl -n 'not __fish_seen_subcommand_from", file);
	for (size_t i = 0; i < count; i++)
		if (takes_path(&commands[i]))
			fprintf(file, " %s", commands[i].name);
	fputs("' -f\n"
	      "complete -c stokerctl -l socket -r -d 'control socket'\n"
	      "complete -c stokerctl -l json -d 'print JSON'\n"
	      "complete -c stokerctl -l help -s h -d 'show help'\n"
	      "complete -c stokerctl -n __fish_use_subcommand -l version -d 'print the version'\n"
	      "complete -c stokerctl -n __fish_use_subcommand -f -a help -d 'show help'\n",
	      file);
	for (size_t i = 0; i < count; i++)
		fish_command(file, &commands[i]);
	fputs("complete -c stokerctl -n '__fish_seen_subcommand_from cache' -a 'warm pin "
	      "unpin'\n"
	      "complete -c stokerctl -n '__fish_seen_subcommand_from set' -a \"(" SETTINGS ")\"\n"
	      "complete -c stokerctl -n '__fish_seen_subcommand_from replay' -a \"(stokerctl "
	      "streams "
	      "2>/dev/null | tail -n +2 | string match -r '\\d+')\"\n"
	      "complete -c stokerctl -n '__fish_seen_subcommand_from completions' -a 'bash zsh "
	      "fish'\n",
	      file);
}

int completions_print(FILE *file, const char *shell, const struct command *commands, size_t count)
{
	static const struct {
		const char *shell;
		const char *first; /* a line that must be the first */
		void (*print)(FILE *file, const struct command *commands, size_t count);
	} rows[] = {{"bash", "", print_bash},
		    {"zsh", "#compdef stokerctl\n", print_zsh},
		    {"fish", "", print_fish}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (strcmp(rows[i].shell, shell) != 0)
			continue;
		fprintf(file, "%s" HEAD, rows[i].first, shell);
		rows[i].print(file, commands, count);
		return 0;
	}
	return -EINVAL;
}
