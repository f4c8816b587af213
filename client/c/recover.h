/* SPDX-License-Identifier: MIT */
/*
 * Attaches a handle again: to the daemon that takes the place of a lost one, or to the same stream
 * at another place. Called by the thread that is inside the handle. Knows no batch.
 */
#ifndef STOKER_CLIENT_RECOVER_H
#define STOKER_CLIENT_RECOVER_H

#include <stdint.h>

#include "client/c/handle.h"

/* Wait for a daemon until `until` (-1: until the time to reconnect is over). 0: attached again, or
 * the last epoch is over; -EAGAIN: not yet; another errno: it cannot, explained in the handle's
 * fault. */
int recover_wait(struct stoker *stoker, int64_t until);

/* Go to another place of the stream: see stoker_seek(). */
int recover_seek(struct stoker *stoker, uint64_t epoch, uint64_t position);

#endif
