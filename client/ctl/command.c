/* SPDX-License-Identifier: MIT */
#include "client/ctl/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "client/ctl/bench.h"
#include "client/ctl/control.h"
#include "client/ctl/fit.h"
#include "client/ctl/index.h"
#include "client/ctl/json.h"
#include "client/ctl/preview.h"
#include "client/ctl/replay.h"
#include "client/ctl/report.h"
#include "client/ctl/table.h"
#include "client/ctl/top.h"

static const struct column stream_columns[] = {
	{"STREAM", "stream", NULL, UNIT_PLAIN, false},
	{"DATASET", "dataset", NULL, UNIT_PLAIN, false},
	{"SAMPLES", "samples", NULL, UNIT_PLAIN, false},
	{"SHUFFLE", "shuffle", NULL, UNIT_PLAIN, true},
	{"SAMPLER", "sampler_name", NULL, UNIT_PLAIN, true},
	{"ECHO", "echo", NULL, UNIT_PLAIN, false},
	{"VIEWS", "views", NULL, UNIT_PLAIN, false},
	{"READERS", "readers", NULL, UNIT_PLAIN, false},
	{"RINGS", "rings", NULL, UNIT_PLAIN, false},
	{"MEMORY", "ring_bytes", NULL, UNIT_BYTES, false},
	{"LIMITED BY", "limited_by", NULL, UNIT_PLAIN, true},
	{"IMAGES/S", "images_per_second", NULL, UNIT_RATE, false},
	{"DECODED", "decoded", NULL, UNIT_PLAIN, false},
	{"DELIVERED", "delivered", NULL, UNIT_PLAIN, false},
	{"DTYPE", "dtype", NULL, UNIT_PLAIN, true},
	{"LAYOUT", "layout", NULL, UNIT_PLAIN, true},
	{"PIPELINE", "pipeline", NULL, UNIT_PLAIN, true},
};

static const struct column reader_columns[] = {
	{"READER", "reader", NULL, UNIT_PLAIN, false},
	{"PID", "pid", NULL, UNIT_PLAIN, false},
	{"UID", "uid", NULL, UNIT_PLAIN, false},
	{"JOB", "job", NULL, UNIT_PLAIN, true},
	{"RANK", "rank", "world", UNIT_PLAIN, false},
	{"STREAM", "stream", NULL, UNIT_PLAIN, false},
	{"RING", "ring", NULL, UNIT_PLAIN, false},
	{"BATCH", "batch_size", NULL, UNIT_PLAIN, false},
	{"EPOCH", "epoch", NULL, UNIT_PLAIN, false},
	{"POSITION", "position", NULL, UNIT_PLAIN, false},
	{"HELD", "leased", "inflight", UNIT_PLAIN, false},
	{"STATE", "state", NULL, UNIT_PLAIN, true},
	{"FOR", "waits_for", NULL, UNIT_REFERENCE, false},
	{"LIMITED BY", "limited_by", NULL, UNIT_PLAIN, true},
	{"IMAGES/S", "images_per_second", NULL, UNIT_RATE, false},
	{"DELIVERED", "delivered", NULL, UNIT_PLAIN, false},
	{"AGE", "age_s", NULL, UNIT_SECONDS, false},
	{"CLIENT", "client", NULL, UNIT_PLAIN, true},
};

static const struct column dataset_columns[] = {
	{"DATASET", "dataset", NULL, UNIT_PLAIN, false},
	{"KIND", "kind", NULL, UNIT_PLAIN, true},
	{"STATE", "state", NULL, UNIT_PLAIN, true},
	{"FOUND", "found", NULL, UNIT_PLAIN, false},
	{"SAMPLES", "samples", NULL, UNIT_PLAIN, false},
	{"CLASSES", "classes", NULL, UNIT_PLAIN, false},
	{"BAD", "bad", NULL, UNIT_PLAIN, false},
	{"STREAMS", "streams", NULL, UNIT_PLAIN, false},
	{"INDEX", "index_bytes", NULL, UNIT_BYTES, false},
	{"FINGERPRINT", "fingerprint", NULL, UNIT_PLAIN, true},
	{"PATH", "path", NULL, UNIT_PLAIN, true},
};

static const struct column bad_columns[] = {
	{"DATASET", "dataset", NULL, UNIT_PLAIN, false},
	{"SAMPLE", "sample", NULL, UNIT_PLAIN, false},
	{"COUNT", "count", NULL, UNIT_PLAIN, false},
	{"ERROR", "name", NULL, UNIT_PLAIN, true},
	{"PATH", "path", NULL, UNIT_PLAIN, true},
	{"WHAT", "text", NULL, UNIT_PLAIN, true},
};

static const struct {
	const char *what;
	const struct column *columns;
	size_t count;
	const char *none;
} lists[] = {
	{"streams", stream_columns, sizeof(stream_columns) / sizeof(*stream_columns),
	 "no stream: no reader is attached"},
	{"readers", reader_columns, sizeof(reader_columns) / sizeof(*reader_columns),
	 "no reader is attached"},
	{"datasets", dataset_columns, sizeof(dataset_columns) / sizeof(*dataset_columns),
	 "no dataset is open"},
	{"bad", bad_columns, sizeof(bad_columns) / sizeof(*bad_columns), "no bad sample was found"},
};

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
	unit_write(json_object_get(error, "text"), UNIT_PLAIN, line, sizeof(line));
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

static void print_list(const struct command *command, const struct invocation *invocation,
		       const json_t *items)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (strcmp(lists[i].what, command->name) != 0)
			continue;
		table_print(stdout, items, lists[i].columns, lists[i].count, invocation->bold);
		if (json_array_size(items) == 0 && invocation->bold)
			fprintf(stderr, "%s\n", lists[i].none);
	}
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
	print_list(command, invocation, items);
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
	unit_write(before, UNIT_PLAIN, old, sizeof(old));
	unit_write(after, UNIT_PLAIN, new, sizeof(new));
	if (before && after)
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

static int run_replay(const struct command *command, const struct invocation *invocation)
{
	struct control control;
	json_t *values;
	const struct replay replay = {invocation->arguments[0], invocation->epoch,
				      invocation->position, invocation->output};
	(void)command;
	int r = control_open(&control, invocation->socket);
	if (r == 0)
		r = replay_run(&control, &replay, &values);
	control_close(&control);
	if (r)
		return fail(invocation, &control.fault, r);
	if (invocation->json)
		return print_json(values);
	replay_print(stdout, values);
	json_decref(values);
	return EX_OK;
}

static int run_bench(const struct command *command, const struct invocation *invocation)
{
	struct control control;
	json_t *values;
	const struct bench bench = {invocation->arguments[0], invocation->transforms,
				    invocation->batch_size, invocation->seconds};
	(void)command;
	int r = control_open(&control, invocation->socket);
	if (r == 0)
		r = bench_run(&control, &bench, &values);
	control_close(&control);
	if (r)
		return fail(invocation, &control.fault, r);
	if (invocation->json)
		return print_json(values);
	bench_print(stdout, values);
	json_decref(values);
	return EX_OK;
}

static int run_preview(const struct command *command, const struct invocation *invocation)
{
	struct control control;
	json_t *values;
	const struct preview preview = {
		.dataset = invocation->arguments[0],
		.transforms = invocation->transforms,
		.output = invocation->output,
		.epoch = invocation->epoch,
		.rows = invocation->rows,
		.cols = invocation->cols,
		.seed = invocation->seed,
		.split = invocation->split,
	};
	(void)command;
	int r = control_open(&control, invocation->socket);
	if (r == 0)
		r = preview_run(&control, &preview, &values);
	control_close(&control);
	if (r)
		return fail(invocation, &control.fault, r);
	if (invocation->json)
		return print_json(values);
	preview_print(stdout, values);
	json_decref(values);
	return EX_OK;
}

static int run_index(const struct command *command, const struct invocation *invocation)
{
	struct control control;
	json_t *values;
	(void)command;
	int r = control_open(&control, invocation->socket);
	if (r == 0)
		r = index_build(&control, invocation->arguments[0],
				!invocation->json && isatty(STDERR_FILENO), &values);
	control_close(&control);
	if (r)
		return fail(invocation, &control.fault, r);
	if (invocation->json)
		return print_json(values);
	index_print(stdout, values);
	json_decref(values);
	return EX_OK;
}

static int run_fit(const struct command *command, const struct invocation *invocation)
{
	struct control control;
	json_t *values;
	const struct fit fit = {
		.dataset = invocation->arguments[0],
		.transforms = invocation->transforms,
		.name = invocation->name,
		.rescale = invocation->rescale,
		.epsilon = invocation->zca_epsilon,
		.per_pixel = invocation->per_pixel,
		.zca = invocation->zca,
	};
	(void)command;
	int r = control_open(&control, invocation->socket);
	if (r == 0)
		r = fit_run(&control, &fit, !invocation->json && isatty(STDERR_FILENO), &values);
	control_close(&control);
	if (r)
		return fail(invocation, &control.fault, r);
	if (invocation->json)
		return print_json(values);
	fit_print(stdout, values);
	json_decref(values);
	return EX_OK;
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
	{"readers", "", "list training processes: progress, what they wait for", "", 0, run_list},
	{"streams", "", "list streams: dataset, transforms, memory, images/s", "", 0, run_list},
	{"datasets", "", "list the datasets that are open or being indexed", "", 0, run_list},
	{"bad", "", "list samples that could not be read or decoded", "", 0, run_list},
	{"set", "NAME VALUE", "change a setting of the running daemon: set workers 8", "", 2,
	 run_set},
	{"replay", "STREAM", "make one sample again: --epoch E --position P [-o out.png]", "epo", 1,
	 run_replay},
	{"index", "DATASET", "build the JPEG seek index now, before the first epoch", "", 1,
	 run_index},
	{"fit", "DATASET", "compute mean, deviation, whitening for ImageDataGenerator", "tnREPz", 1,
	 run_fit},
	{"bench", "DATASET", "measure loading speed; say what limits it and what to change", "tbS",
	 1, run_bench},
	{"preview", "DATASET", "write transformed samples to an image: -t T -o sheet.png",
	 "teorcxl", 1, run_preview},
	{"ping", "", "check that the daemon answers, and how fast", "", 0, run_ping},
	{"stop", "", "stop the daemon; its readers may finish their batch first", "", 0, run_stop},
};
const size_t n_commands = sizeof(commands) / sizeof(*commands);

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < n_commands; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}
