/* SPDX-License-Identifier: MIT */
/*
 * Replaces the daemon by the program that lies now where its own was, under its readers: a unit of
 * systemd is restarted, any other daemon goes on as the new program in the same process. Looks
 * first whether that program accepts the daemon's arguments; waits until the readers are back.
 */
#ifndef STOKER_CTL_UPGRADE_H
#define STOKER_CTL_UPGRADE_H

#include <jansson.h>
#include <stdio.h>

#include "client/ctl/control.h"

/* `control` is connected to the old daemon, and afterwards to the new one. 0 or a negative errno.
 */
int upgrade_run(struct control *control, const char *socket, json_t **values_out);
void upgrade_print(FILE *file, const json_t *values);

#endif
