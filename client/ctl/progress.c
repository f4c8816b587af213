/* SPDX-License-Identifier: MIT */
#include "client/ctl/progress.h"

#include <errno.h>
#include <stdio.h>

#include "client/c/words.h"
#include "client/ctl/json.h"

static void show_progress(const struct message_progress *progress)
{
	char what[256];
	text_copy(what, sizeof(what), progress->what);
	fault_make_plain(what);
	fprintf(stderr, "\r\033[K%s: %llu", what, (unsigned long long)progress->done);
	if (progress->total)
		fprintf(stderr, " of %llu files, %.1f %%", (unsigned long long)progress->total,
			100.0 * (double)progress->done / (double)progress->total);
	fflush(stderr);
}

static int wait_for_report(struct control *control, uint32_t seq, bool show, json_t **values_out)
{
	struct message reply;
	for (;;) {
		int r = connection_receive(&control->connection, CONNECTION_QUIET_MS, &reply,
					   &control->fault);
		if (r == -EAGAIN)
			return fault_say(&control->fault, -ETIMEDOUT,
					 "stokerd has sent nothing for %d s",
					 CONNECTION_QUIET_MS / 1000);
		if (r)
			return r;
		if (reply.kind == MESSAGE_PROGRESS && show)
			show_progress(&reply.progress);
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
