/* SPDX-License-Identifier: MIT */
/*
 * `stokerctl doctor`, the daemon: does it answer, on which sockets, whose are they, may this user
 * connect, do versions agree; and what its counters say. Knows nothing of the machine.
 */
#ifndef STOKER_CTL_EXAMINE_DAEMON_H
#define STOKER_CTL_EXAMINE_DAEMON_H

#include "client/c/address.h"
#include "client/ctl/control.h"
#include "client/ctl/doctor/findings.h"

/* Answers of a daemon, as far as it could be reached. */
struct reached {
	struct control control; /* open if `status` is not NULL */
	json_t *status;		/* owned; NULL: the control socket did not answer */
	char data[ADDRESS_MAX]; /* its data socket; "": not found */
	pid_t pid;		/* by its WELCOME; 0: none answered */
};

/* `socket`: the control socket, or NULL. */
void examine_daemon(struct findings *findings, const char *socket, struct reached *out);
void reached_deinit(struct reached *reached);

/* Counters that should not have grown, limits that are reached. */
void examine_counters(struct findings *findings, const json_t *status);

#endif
