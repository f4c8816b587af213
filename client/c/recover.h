/* SPDX-License-Identifier: MIT */
/*
 * Attaches a handle again: to the daemon that takes the place of a lost one, and to the same stream
 * at another place. The thread inside of the handle calls it. Knows no batch.
 */
#ifndef STOKER_CLIENT_RECOVER_H
#define STOKER_CLIENT_RECOVER_H

#include <stdint.h>

#include "client/c/handle.h"

/* Wait for a daemon until `until` (-1: as long as the caller wants to reconnect). 0: attached
 * again, or behind the last epoch; -EAGAIN: not yet; else why it cannot, explained in the handle's
 * fault.
 */
int recover_wait(struct stoker *stoker, int64_t until);

/* Do what stoker_seek() says. */
int recover_seek(struct stoker *stoker, uint64_t epoch, uint64_t position);

#endif
