/* SPDX-License-Identifier: MIT */
/*
 * The unit of systemd that runs a process, if one does, as systemctl tells. Knows no daemon's
 * message. Blocks; one caller.
 */
#ifndef STOKER_CTL_SERVICE_H
#define STOKER_CTL_SERVICE_H

#include <stdbool.h>
#include <sys/types.h>

#include "client/c/fault.h"

struct service {
	char unit[256]; /* "stokerd.service"; "": no unit runs it */
	bool user;	/* a unit of the manager of `owner` and not of the system's */
	uid_t owner;
};

/* Find the unit that this is the main process of. */
void service_find(struct service *service, pid_t pid);
/* Restart it and wait until it has started. 0 or a negative errno. */
int service_restart(const struct service *service, struct fault *fault);

#endif
