/* SPDX-License-Identifier: MIT */
/*
 * `stokerctl doctor DATASET`: can the daemon's user read it, which part of its path closes it if
 * not, and how fast do its files come. Asks for the samples as a trainer does, by the data socket.
 */
#ifndef STOKER_CTL_EXAMINE_DATASET_H
#define STOKER_CTL_EXAMINE_DATASET_H

#include "client/ctl/doctor/examine_daemon.h"
#include "client/ctl/doctor/host.h"

void examine_dataset(struct findings *findings, struct reached *reached,
		     const struct host_process *process, const char *path, const char *kind);

/* The first part of an absolute path that this process's user cannot enter, or at its end read;
 * "" if there is none, by the modes. `out` has PATH_MAX bytes. */
void examine_path(const struct host_process *process, const char *path, char *out);

#endif
