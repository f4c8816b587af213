/* SPDX-License-Identifier: MIT */
/*
 * Copy of a batch: its samples in memory of their own, of the form of a ring, so that a batch of
 * any ring outlives that ring's daemon. Knows no socket.
 */
#ifndef STOKER_CLIENT_REPLAY_COPY_H
#define STOKER_CLIENT_REPLAY_COPY_H

#include "client/c/batch.h"

/* Make one whose samples are one run, and which belongs to no attachment: who releases it tells
 * nobody. 0 or -ENOMEM. */
int copy_batch(struct batch **out, const struct batch *batch);

#endif
