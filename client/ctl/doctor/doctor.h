/* SPDX-License-Identifier: MIT */
/*
 * `stokerctl doctor`: looks at everything that keeps a daemon from serving well, from outside and
 * by asking it. It changes nothing; with a dataset it reads some samples of it.
 */
#ifndef STOKER_CTL_DOCTOR_H
#define STOKER_CTL_DOCTOR_H

#include "client/ctl/doctor/findings.h"

/* `socket`: the control socket, or NULL. `dataset`, `kind`: or NULL. */
void doctor_run(const char *socket, const char *dataset, const char *kind,
		struct findings *findings);

#endif
