/* SPDX-License-Identifier: MIT */
#include "client/ctl/upgrade.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/c/clock.h"
#include "client/ctl/child.h"
#include "client/ctl/doctor/host.h"
#include "client/ctl/service.h"
#include "client/ctl/show/unit.h"
#include "client/ctl/show/values.h"

#define NEW_MS 60000  /* until the new daemon answers */
#define GONE_MS 5000  /* while nobody has the sockets */
#define BACK_MS 10000 /* until the readers have a batch again */
#define LOOK_MS 10

/* Facts of the daemon before it is replaced. */
struct old_daemon {
	char version[256];
	struct host_process process;
	struct service service;
	json_int_t readers; /* that are training */
};

/* Readers that want batches; `served`: of those, who had one. */
static int count_readers(struct control *control, bool served, json_int_t *out)
{
	json_t *readers, *reader;
	size_t i;
	*out = 0;
	int r = control_list(control, "readers", &readers);
	if (r)
		return r;
	json_array_foreach(readers, i, reader)
	{
		const char *state = text_of(reader, ROW_KEY(reader, state));
		bool wants = *state && strcmp(state, "paused") != 0 && strcmp(state, "ended") != 0;
		bool had = whole_of(reader, ROW_KEY(reader, delivered)) > 0;
		*out += served ? had : wants;
	}
	json_decref(readers);
	return 0;
}

static int look_at_daemon(struct control *control, struct old_daemon *old)
{
	json_t *status;
	int r = control_status(control, &status);
	if (r)
		return r;
	bool upgrades = truth_of(status, ROW_KEY(status, upgrades));
	json_decref(status);
	snprintf(old->version, sizeof(old->version), "%s", control->daemon);
	old->process = host_process("", (pid_t)control->pid, "stokerd");
	if (old->process.pid == 0)
		return fault_say(&control->fault, -ENOTSUP,
				 "the daemon's process %llu is not seen from here: call stokerctl "
				 "upgrade in its container",
				 (unsigned long long)control->pid);
	service_find(&old->service, old->process.pid);
	if (!*old->service.unit && !upgrades)
		return fault_say(&control->fault, -ENOTSUP,
				 "%s cannot be upgraded in place: stokerctl stop, then start the "
				 "new one; its trainers wait for that",
				 old->version);
	return count_readers(control, false, &old->readers);
}

/* The program that the daemon would go on as; see successor_find(). */
static int find_program(pid_t pid, char out[PATH_MAX], struct fault *fault)
{
	char link[64], *deleted;
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	ssize_t size = readlink(link, out, PATH_MAX - 1);
	if (size < 0)
		return fault_say(fault, -errno,
				 "cannot find the daemon's program: %s: restart the daemon by hand",
				 strerror(errno));
	out[size] = '\0';
	deleted = strstr(out, " (deleted)");
	if (deleted && !deleted[strlen(" (deleted)")])
		*deleted = '\0';
	return 0;
}

/* The words of a file in /proc. */
struct words {
	char text[256 << 10];
	char *word[4096];
};

/* With `last` behind them. False: they cannot be read, or are too many. */
static bool words_read(struct words *words, pid_t pid, const char *name, char *last)
{
	char path[64];
	size_t count = 0;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	size_t size = fread(words->text, 1, sizeof(words->text) - 1, file);
	bool failed = ferror(file);
	fclose(file);
	for (char *at = words->text; at < words->text + size && count < 4094; at += strlen(at) + 1)
		words->word[count++] = at;
	words->word[count] = last;
	return !failed && size < sizeof(words->text) - 1 && count < 4094;
}

/* Would the new program start with the daemon's arguments and environment? It prints why not. */
static int try_program(const char *program, pid_t pid, struct fault *fault)
{
	char folder[64], last[] = "--print-config", out[64];
	struct words *arguments = calloc(1, sizeof(*arguments));
	struct words *environment = calloc(1, sizeof(*environment));
	bool read = arguments && environment && words_read(arguments, pid, "cmdline", last) &&
		    *arguments->word != last && words_read(environment, pid, "environ", NULL);
	snprintf(folder, sizeof(folder), "/proc/%d/cwd", (int)pid);
	int status = -1;
	if (read)
		status = child_run(
			&(struct child){program, arguments->word, environment->word, folder}, out,
			sizeof(out));
	free(arguments);
	free(environment);
	if (!read)
		return fault_say(fault, -ENOTSUP,
				 "the arguments and environment of the daemon cannot be read "
				 "(/proc/%d), or are too long, so that nobody can try whether %s "
				 "starts with them: stop the daemon, and start that",
				 (int)pid, program);
	return status == 0 ? 0
			   : fault_say(fault, -ENOTSUP,
				       "%s does not start with the arguments and environment of "
				       "the daemon, which was left as it is",
				       program);
}

/* Replace the program; the same process goes on as the new one. */
static int replace_program(struct control *control, const struct old_daemon *old)
{
	char program[PATH_MAX];
	if (old->process.uid != geteuid())
		return fault_say(&control->fault, -EPERM,
				 "this daemon is user %u's: it is for that user to upgrade",
				 (unsigned)old->process.uid);
	int r = find_program(old->process.pid, program, &control->fault);
	r = r ? r : try_program(program, old->process.pid, &control->fault);
	return r ? r : control_upgrade(control);
}

/* The sockets are kept, so that this waits for the new daemon, but where it serves others: as with
 * another socket-mode. */
static int connect_again(struct control *control, const char *socket)
{
	int64_t until = clock_ns() + (int64_t)GONE_MS * 1000000;
	int r;
	do {
		control_close(control);
		r = control_open_at(control, ADDRESS_CONTROL, socket, NEW_MS);
		if (r)
			nanosleep(&(struct timespec){0, LOOK_MS * 1000000}, NULL);
	} while ((r == -ECONNRESET || r == -ENOENT) && clock_ns() < until);
	if (r == -ECONNRESET || r == -ENOENT)
		return fault_say(&control->fault, r,
				 "the new daemon does not answer: its log says why");
	return r;
}

static int await_readers(struct control *control, json_int_t wanted, json_int_t *back_out)
{
	int64_t until = clock_ns() + (int64_t)BACK_MS * 1000000;
	while (true) {
		int r = count_readers(control, true, back_out);
		if (r || *back_out >= wanted || clock_ns() > until)
			return r;
		nanosleep(&(struct timespec){0, LOOK_MS * 1000000}, NULL);
	}
}

int upgrade_run(struct control *control, const char *socket, json_t **values_out)
{
	struct old_daemon old;
	json_int_t back = 0;
	int r = look_at_daemon(control, &old);
	if (r)
		return r;
	int64_t begun = clock_ns();
	r = *old.service.unit ? service_restart(&old.service, &control->fault)
			      : replace_program(control, &old);
	r = r ? r : connect_again(control, socket);
	r = r ? r : await_readers(control, old.readers, &back);
	if (r)
		return r;
	*values_out = json_pack("{ss ss sI ss sI sI sf}", "before", old.version, "after",
				control->daemon, "pid", (json_int_t)control->pid, "unit",
				old.service.unit, "readers", old.readers, "back", back, "seconds",
				(double)(clock_ns() - begun) * 1e-9);
	return *values_out ? 0 : fault_say(&control->fault, -ENOMEM, "out of memory");
}

void upgrade_print(FILE *file, const json_t *values)
{
	json_int_t readers = whole_of(values, "readers"), back = whole_of(values, "back");
	char before[256], after[256];
	unit_write(json_object_get(values, "before"), UNIT_NONE, before, sizeof(before));
	unit_write(json_object_get(values, "after"), UNIT_NONE, after, sizeof(after));
	fprintf(file, "%s -> %s (pid %" JSON_INTEGER_FORMAT ") in %.2f s", before, after,
		whole_of(values, "pid"), number_of(values, "seconds"));
	if (readers)
		fprintf(file,
			"; %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
			" readers have batches again%s",
			back, readers,
			back < readers ? "; the others have ended, or did not ask for one" : "");
	fprintf(file, "\n");
}
