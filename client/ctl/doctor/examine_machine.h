/* SPDX-License-Identifier: MIT */
/*
 * `stokerctl doctor`, the machine: shared memory, memory and control groups, descriptors,
 * processors, steal time, systemd's units. Reads /proc and /sys below `root` ("": the machine's
 * own), and the settings in STATUS (NULL: there is no daemon).
 */
#ifndef STOKER_CTL_EXAMINE_MACHINE_H
#define STOKER_CTL_EXAMINE_MACHINE_H

#include "client/ctl/doctor/findings.h"
#include "client/ctl/doctor/host.h"

struct machine {
	const char *root;
	const struct host_process *process; /* the daemon's; its pid is 0 if it cannot be seen */
	const json_t *status;
};

void examine_shm(struct findings *findings, const struct machine *machine);
void examine_memory(struct findings *findings, const struct machine *machine);
void examine_descriptors(struct findings *findings, const struct machine *machine);
void examine_processors(struct findings *findings, const struct machine *machine);
void examine_units(struct findings *findings, const struct machine *machine);
void examine_steal(struct findings *findings, struct host_times before, struct host_times after);

#endif
