/* SPDX-License-Identifier: MIT */
#include "client/ctl/doctor/doctor.h"

#include <time.h>

#include "client/c/clock.h"
#include "client/ctl/doctor/examine_daemon.h"
#include "client/ctl/doctor/examine_dataset.h"
#include "client/ctl/doctor/examine_load.h"
#include "client/ctl/doctor/examine_machine.h"

#define STEAL_NS 500000000 /* the clock of /proc/stat ticks each 10 ms */

static void wait_until(int64_t ns)
{
	int64_t left = ns - clock_ns();
	struct timespec rest = {left / 1000000000, left % 1000000000};
	if (left > 0)
		nanosleep(&rest, NULL);
}

/* Examine what the readers are limited by, since `begun_ns`. */
static void examine_work(struct findings *findings, struct reached *reached, int64_t begun_ns)
{
	json_t *after, *readers;
	if (!reached->status || control_status(&reached->control, &after))
		return;
	double seconds = (double)(clock_ns() - begun_ns) / 1e9;
	if (control_list(&reached->control, "readers", &readers) == 0) {
		examine_load(findings, reached->status, after, seconds, readers);
		json_decref(readers);
	}
	json_decref(after);
}

void doctor_run(const char *socket, const char *dataset, const char *kind,
		struct findings *findings)
{
	struct host_times before = host_times("");
	int64_t begun = clock_ns();
	struct reached reached;
	examine_daemon(findings, socket, &reached);
	struct host_process process = host_process("", reached.pid, "stokerd");
	const struct machine machine = {"", &process, reached.status};
	examine_units(findings, &machine);
	examine_shm(findings, &machine);
	examine_memory(findings, &machine);
	examine_descriptors(findings, &machine);
	examine_processors(findings, &machine);
	if (reached.status)
		examine_counters(findings, reached.status);
	if (dataset && *reached.data)
		examine_dataset(findings, &reached, &process, dataset, kind);
	wait_until(begun + STEAL_NS);
	examine_steal(findings, before, host_times(""));
	examine_work(findings, &reached, begun);
	reached_deinit(&reached);
}
