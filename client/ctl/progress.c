/* SPDX-License-Identifier: MIT */
#include "client/ctl/progress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/c/clock.h"
#include "client/c/words.h"
#include "client/ctl/json.h"
#include "client/ctl/show/unit.h"

/* A phase of the request, since it was first heard of. */
struct phase {
	char what[256];
	uint64_t done;
	int64_t begun_ms;
};

/* The time that is left, at the speed so far. */
static void show_left(const struct phase *phase, const struct message_progress *progress)
{
	char left[32];
	int64_t took_ms = clock_ms() - phase->begun_ms;
	uint64_t done = progress->done - phase->done;
	if (progress->done <= phase->done || progress->done > progress->total || took_ms < 1000)
		return;
	double ms = (double)took_ms * (double)(progress->total - progress->done) / (double)done;
	json_t *seconds = json_real(ms / 1000);
	unit_write(seconds, UNIT_SECONDS, left, sizeof(left));
	json_decref(seconds);
	fprintf(stderr, ", %s left", left);
}

static void show_progress(struct phase *phase, const struct message_progress *progress)
{
	char what[sizeof(phase->what)];
	text_copy(what, sizeof(what), progress->what);
	fault_make_plain(what);
	if (strcmp(what, phase->what) != 0) {
		*phase = (struct phase){.done = progress->done, .begun_ms = clock_ms()};
		strcpy(phase->what, what);
	}
	fprintf(stderr, "\r\033[K%s: %llu", what, (unsigned long long)progress->done);
	if (progress->total) {
		fprintf(stderr, " of %llu files, %.1f %%", (unsigned long long)progress->total,
			100.0 * (double)progress->done / (double)progress->total);
		show_left(phase, progress);
	}
	fflush(stderr);
}

static int wait_for_report(struct control *control, uint32_t seq, bool show, json_t **values_out)
{
	struct phase phase = {.what = ""};
	struct message reply;
	for (;;) {
		int r = connection_receive(&control->connection, CONNECTION_QUIET_MS, &reply,
					   &control->fault);
		if (r == -EAGAIN)
			return fault_say(&control->fault, -ETIMEDOUT,
					 "stokerd has sent nothing for %d s: see its log",
					 CONNECTION_QUIET_MS / 1000);
		if (r)
			return r;
		if (reply.kind == MESSAGE_PROGRESS && show)
			show_progress(&phase, &reply.progress);
		if (reply.kind == MESSAGE_ERROR && (reply.error.seq == seq || reply.error.seq == 0))
			return words_of_error(&control->fault, &reply.error);
		if (reply.kind != MESSAGE_REPORT || reply.report.seq != seq)
			continue;
		if (value_kind(reply.report.values.value) != VALUE_MAP)
			return connection_broken(&control->connection, &control->fault,
						 "a REPORT whose values are not a map");
		*values_out = json_of(reply.report.values.value);
		return *values_out ? 0 : fault_say(&control->fault, -ENOMEM, "out of memory");
	}
}

int progress_wait(struct control *control, uint32_t seq, bool show, json_t **values_out)
{
	int r = wait_for_report(control, seq, show, values_out);
	if (show)
		fputs("\r\033[K", stderr);
	return r;
}
