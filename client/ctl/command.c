/* SPDX-License-Identifier: MIT */
#include "client/ctl/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "client/ctl/bench.h"
#include "client/ctl/completions.h"
#include "client/ctl/control.h"
#include "client/ctl/doctor/doctor.h"
#include "client/ctl/fit.h"
#include "client/ctl/index.h"
#include "client/ctl/json.h"
#include "client/ctl/preview.h"
#include "client/ctl/replay.h"
#include "client/ctl/show/lists.h"
#include "client/ctl/show/report.h"
#include "client/ctl/show/unit.h"
#include "client/ctl/show/values.h"
#include "client/ctl/top.h"
#include "client/ctl/upgrade.h"
#include "client/ctl/warm.h"
#include "client/ctl/watch.h"

static int exit_status(int result)
{
	switch (result) {
	case 0:
		return EX_OK;
	case -ENOENT:
	case -ECONNRESET:
	case -ETIMEDOUT:
		return EX_UNAVAILABLE;
	case -EACCES:
	case -EPERM:
		return EX_NOPERM;
	case -EINVAL:
	case -ENAMETOOLONG:
		return EX_USAGE;
	case -EBUSY:
	case -EDQUOT:
	case -ESHUTDOWN:
		return EX_TEMPFAIL;
	case -ENOTSUP:
		return EX_CONFIG;
	case -EPROTO:
	case -EPROTONOSUPPORT:
		return EX_PROTOCOL;
	case -ENOMEM:
	case -ENOSPC:
		return EX_OSERR;
	default:
		return EX_SOFTWARE;
	}
}

/* Takes the reference. NULL: there was no memory for the object. */
static int print_json(json_t *json)
{
	if (!json)
		return EX_OSERR;
	json_print(json);
	json_decref(json);
	return EX_OK;
}

/* Print what went wrong; returns its exit status. */
static int fail(const struct invocation *invocation, const struct fault *fault, int result)
{
	char line[sizeof(fault->text) * 4];
	json_t *error = json_of_fault(fault);
	unit_write(json_object_get(error, "text"), UNIT_NONE, line, sizeof(line));
	fprintf(stderr, "stokerctl: %s\n", line);
	if (result == -ENOENT)
		fprintf(stderr, "stokerctl: is stokerd running? start it with `stokerd`, or "
				"`systemctl --user start stokerd`\n");
	if (invocation->json)
		(void)print_json(json_pack("{sO?}", "error", error));
	json_decref(error);
	return exit_status(result);
}

static int run_status(const struct command *command, const struct invocation *invocation)
{
	struct control control;
	json_t *values;
	(void)command;
	int r = control_open(&control, invocation->socket);
	if (r == 0)
		r = control_status(&control, &values);
	control_close(&control);
	if (r)
		return fail(invocation, &control.fault, r);
	if (invocation->json)
		return print_json(values);
	report_print(stdout, values, invocation->bold);
	json_decref(values);
	return EX_OK;
}

static int run_list(const struct command *command, const struct invocation *invocation)
{
	struct control control;
	json_t *items;
	int r = control_open(&control, invocation->socket);
	if (r == 0)
		r = control_list(&control, command->name, &items);
	control_close(&control);
	if (r)
		return fail(invocation, &control.fault, r);
	if (invocation->json)
		return print_json(json_pack("{so}", command->name, items));
	lists_print(stdout, command->name, items, invocation->bold);
	json_decref(items);
	return EX_OK;
}

/* A new reference to the value of a setting, from STATUS, where names have _ for -. NULL: it has
 * none. */
static json_t *setting_of(struct control *control, const char *name)
{
	char key[256];
	json_t *values;
	snprintf(key, sizeof(key), "%s", name);
	for (char *at = key; *at; at++)
		*at = *at == '-' ? '_' : *at;
	if (control_status(control, &values))
		return NULL;
	json_t *value = json_incref(json_object_get(values, key));
	json_decref(values);
	return value;
}

static int print_set(const struct invocation *invocation, json_t *before, json_t *after)
{
	char old[256], new[256];
	char *const *arguments = invocation->arguments;
	if (invocation->json)
		return print_json(json_pack("{sssssO?sO?}", "name", arguments[0], "value",
					    arguments[1], "before", before, "after", after));
	unit_write(before, UNIT_NONE, old, sizeof(old));
	unit_write(after, UNIT_NONE, new, sizeof(new));
	if (before && after && strcmp(arguments[1], "auto") != 0)
		printf("%s %s -> %s\n", arguments[0], old, new);
	else
		printf("%s is %s\n", arguments[0], arguments[1]);
	return EX_OK;
}

static int run_top(const struct command *command, const struct invocation *invocation)
{
	struct fault fault = FAULT_NULL;
	const struct top_options options = {invocation->socket, invocation->interval,
					    invocation->json, invocation->bold};
	(void)command;
	int r = top_run(&options, &fault);
	return r ? fail(invocation, &fault, r) : EX_OK;
}

static int run_set(const struct command *command, const struct invocation *invocation)
{
	struct control control;
	json_t *before = NULL, *after = NULL;
	(void)command;
	int r = control_open(&control, invocation->socket);
	if (r == 0)
		before = setting_of(&control, invocation->arguments[0]);
	if (r == 0)
		r = control_set(&control, invocation->arguments[0], invocation->arguments[1]);
	if (r == 0)
		after = setting_of(&control, invocation->arguments[0]);
	control_close(&control);
	int status = r ? fail(invocation, &control.fault, r) : print_set(invocation, before, after);
	json_decref(before);
	json_decref(after);
	return status;
}

static int run_drop(const struct command *command, const struct invocation *invocation)
{
	struct control control;
	const char *text = invocation->n_arguments ? invocation->arguments[0] : "0";
	char *end;
	uint64_t dataset = strtoull(text, &end, 10);
	(void)command;
	if (end == text || *end)
		return fail(invocation, &control.fault,
			    fault_say(&control.fault, -EINVAL,
				      "'%s' is no number of a dataset: stokerctl cache lists them",
				      text));
	int r = control_open(&control, invocation->socket);
	if (r == 0)
		r = control_drop(&control, dataset);
	control_close(&control);
	if (r)
		return fail(invocation, &control.fault, r);
	return invocation->json ? print_json(json_pack("{sb}", "dropped", 1)) : EX_OK;
}

static void print_change(const json_t *change)
{
	const char *keys = "name before after origin";
	char texts[4][512];
	for (size_t i = 0; i < 4; i++)
		unit_write(json_object_get(change, row_next(ROW_CHANGE, &keys)->key), UNIT_NONE,
			   texts[i], sizeof(texts[i]));
	if (truth_of(change, ROW_KEY(change, in_force)))
		printf("%s %s -> %s (%s)%s\n", texts[0], texts[1], texts[2], texts[3],
		       truth_of(change, ROW_KEY(change, was_set)) ? ", not what was set" : "");
	else
		printf("%s stays %s: %s (%s) needs a restart\n", texts[0], texts[1], texts[2],
		       texts[3]);
}

static int run_reload(const struct command *command, const struct invocation *invocation)
{
	struct control control;
	json_t *values;
	const json_t *change;
	size_t i;
	(void)command;
	int r = control_open(&control, invocation->socket);
	if (r == 0)
		r = control_reload(&control, &values);
	control_close(&control);
	if (r) {
		int status = fail(invocation, &control.fault, r);
		return control.fault.code == ERROR_SETTING ? EX_CONFIG : status;
	}
	if (invocation->json)
		return print_json(values);
	json_array_foreach(json_object_get(values, "changes"), i, change) print_change(change);
	if (i == 0)
		printf("nothing changed\n");
	json_decref(values);
	return EX_OK;
}

static int run_ping(const struct command *command, const struct invocation *invocation)
{
	struct control control;
	double seconds;
	(void)command;
	int r = control_open(&control, invocation->socket);
	if (r == 0)
		r = control_ping(&control, &seconds);
	control_close(&control);
	if (r)
		return fail(invocation, &control.fault, r);
	if (invocation->json)
		return print_json(json_pack(
			"{sfsosI}", "seconds", seconds, "daemon",
			json_of_text((struct text){control.daemon, strlen(control.daemon)}), "pid",
			(json_int_t)control.pid));
	printf("%s (pid %llu) answered in %.0f us\n", control.daemon,
	       (unsigned long long)control.pid, seconds * 1e6);
	return EX_OK;
}

/* Ask for values and print them. */
static int run_request(const struct command *command, const struct invocation *invocation)
{
	struct control control;
	json_t *values;
	int r = control_open(&control, invocation->socket);
	if (r == 0)
		r = command->ask(&control, invocation, &values);
	control_close(&control);
	if (r)
		return fail(invocation, &control.fault, r);
	if (invocation->json)
		return print_json(values);
	command->print(stdout, values);
	json_decref(values);
	return EX_OK;
}

static int ask_replay(struct control *control, const struct invocation *invocation, json_t **out)
{
	const struct replay replay = {invocation->arguments[0], invocation->epoch,
				      invocation->position, invocation->output};
	return replay_run(control, &replay, out);
}

static int ask_bench(struct control *control, const struct invocation *invocation, json_t **out)
{
	const struct bench bench = {invocation->arguments[0], invocation->transforms,
				    invocation->batch_size, invocation->seconds, invocation->kind};
	return bench_run(control, &bench, out);
}

static int ask_preview(struct control *control, const struct invocation *invocation, json_t **out)
{
	const struct preview preview = {
		.dataset = invocation->n_arguments ? invocation->arguments[0] : NULL,
		.stream = invocation->stream,
		.transforms = invocation->transforms,
		.output = invocation->output,
		.epoch = invocation->epoch,
		.rows = invocation->rows,
		.cols = invocation->cols,
		.seed = invocation->seed,
		.split = invocation->split,
		.kind = invocation->kind,
	};
	return preview_run(control, &preview, out);
}

static int ask_index(struct control *control, const struct invocation *invocation, json_t **out)
{
	return index_build(control, invocation->arguments[0], invocation->kind, NULL, false,
			   !invocation->json && isatty(STDERR_FILENO), out);
}

static int run_cache(const struct command *command, const struct invocation *invocation)
{
	return invocation->n_arguments ? run_request(command, invocation)
				       : run_list(command, invocation);
}

static int ask_fit(struct control *control, const struct invocation *invocation, json_t **out)
{
	const struct fit fit = {
		.dataset = invocation->arguments[0],
		.kind = invocation->kind,
		.transforms = invocation->transforms,
		.name = invocation->name,
		.rescale = invocation->rescale,
		.epsilon = invocation->zca_epsilon,
		.per_pixel = invocation->per_pixel,
		.zca = invocation->zca,
	};
	return fit_run(control, &fit, !invocation->json && isatty(STDERR_FILENO), out);
}

static int ask_metrics(struct control *control, const struct invocation *invocation, json_t **out)
{
	(void)invocation;
	return watch_metrics(control, out);
}

static int ask_page(struct control *control, const struct invocation *invocation, json_t **out)
{
	(void)invocation;
	return watch_page(control, out);
}

static int run_completions(const struct command *command, const struct invocation *invocation)
{
	struct fault fault;
	(void)command;
	if (completions_print(stdout, invocation->arguments[0], commands, n_commands) == 0)
		return EX_OK;
	return fail(invocation, &fault,
		    fault_say(&fault, -EINVAL, "no completions for %s: name bash, zsh or fish",
			      invocation->arguments[0]));
}

static int run_doctor(const struct command *command, const struct invocation *invocation)
{
	struct findings findings;
	(void)command;
	if (findings_init(&findings))
		return EX_OSERR;
	doctor_run(invocation->socket, invocation->n_arguments ? invocation->arguments[0] : NULL,
		   invocation->kind, &findings);
	int status = findings.worst == FINDING_FAIL ? EXIT_FAILURE : EX_OK;
	if (!invocation->json)
		findings_print(stdout, &findings, invocation->bold);
	else if (print_json(findings_json(&findings)))
		status = EX_OSERR;
	findings_deinit(&findings);
	return status;
}

static int ask_upgrade(struct control *control, const struct invocation *invocation, json_t **out)
{
	return upgrade_run(control, invocation->socket, out);
}

static int run_stop(const struct command *command, const struct invocation *invocation)
{
	struct control control;
	(void)command;
	int r = control_open(&control, invocation->socket);
	if (r == 0)
		r = control_stop(&control);
	control_close(&control);
	if (r)
		return fail(invocation, &control.fault, r);
	if (invocation->json)
		return print_json(
			json_pack("{sbsI}", "stopped", 1, "pid", (json_int_t)control.pid));
	printf("%s (pid %llu) has stopped\n", control.daemon, (unsigned long long)control.pid);
	return EX_OK;
}

const struct command commands[] = {
	{"status", "", "counters and settings of the daemon", "", 0, run_status},
	{"top", "", "live status and readers; + and - change workers, q quits", "i", 0, run_top},
	{"doctor", "[DATASET]", "find out what is wrong, from sockets to storage", "k", 1,
	 run_doctor},
	{"readers", "", "list training processes: progress, what they wait for", "", 0, run_list,
	 "list what there is"},
	{"streams", "", "list streams: dataset, transforms, memory, images/s", "", 0, run_list, ""},
	{"producers", "", "list processes that run users' own code", "", 0, run_list, ""},
	{"datasets", "", "list the datasets that are open or being indexed", "", 0, run_list, ""},
	{"cache", "[warm|pin|unpin DATASET]", "list what is kept; warm: decode and keep all", "tkX",
	 2, run_cache, "", .ask = warm_run, .print = warm_print},
	{"memory", "", "list what takes memory, and what may be taken", "", 0, run_list, ""},
	{"bad", "", "list samples that could not be read or decoded", "", 0, run_list, ""},
	{"metrics", "", "print all that is counted, as Prometheus reads it", "", 0, run_request,
	 "print metrics for Prometheus; the link to the live page", .ask = ask_metrics,
	 .print = watch_metrics_print},
	{"page", "", "where the live page is; its link shows you names", "", 0, run_request, "",
	 .ask = ask_page, .print = watch_page_print},
	{"set", "NAME VALUE", "change a setting of the running daemon: set workers 8", "", 2,
	 run_set, "change a setting: set workers 8; drop what is kept"},
	{"drop", "[DATASET]", "drop what is kept of a dataset, by its number, or of all", "", 1,
	 run_drop, ""},
	{"reload", "", "read the daemon's configuration again; say what changed", "", 0,
	 run_reload},
	{"replay", "STREAM", "make one sample again: --epoch E --position P [-o out.png]", "epo", 1,
	 run_request, .ask = ask_replay, .print = replay_print},
	{"index", "DATASET", "build the JPEG seek index before the first epoch", "k", 1,
	 run_request, .ask = ask_index, .print = index_print},
	{"fit", "DATASET", "compute mean, deviation, whitening for ImageDataGenerator", "tnREPzk",
	 1, run_request, .ask = ask_fit, .print = fit_print},
	{"bench", "DATASET", "measure loading speed; say what limits it and what to change", "tbSk",
	 1, run_request, .ask = ask_bench, .print = bench_print},
	{"preview", "[DATASET]", "write transformed samples to an image: -t T -o sheet.png",
	 "teorcxlkL", 1, run_request, .ask = ask_preview, .print = preview_print},
	{"ping", "", "check that the daemon answers, and how fast", "", 0, run_ping},
	{"upgrade", "", "replace the daemon by its new version, under its readers", "", 0,
	 run_request, "replace the daemon by its new version; stop it", .ask = ask_upgrade,
	 .print = upgrade_print},
	{"stop", "", "stop the daemon; its readers may finish their batch first", "", 0, run_stop,
	 ""},
	{"completions", "SHELL", "completions of this command for bash, zsh or fish", "", 1,
	 run_completions},
};
const size_t n_commands = sizeof(commands) / sizeof(*commands);

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < n_commands; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}
