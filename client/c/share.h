/* SPDX-License-Identifier: MIT */
/*
 * Share of a reader: the positions of its batches (PROTOCOL.md, section 7), to check what the
 * daemon says. Pure; knows no connection.
 */
#ifndef STOKER_CLIENT_SHARE_H
#define STOKER_CLIENT_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/message.h"

struct share {
	uint64_t samples; /* of an epoch, over all ranks */
	uint64_t batch_size, rank, world;
	enum { SHARE_SHORT, SHARE_DROP, SHARE_PAD, SHARE_WRAP } last; /* last_batch */
	bool sized; /* with Buckets: which run of one size is where, only the daemon knows */
};

/* Before it everything was had. */
struct share_place {
	uint64_t epoch, position;
};

struct share share_of(const struct message_attach *attach, uint64_t samples);

/* Position of the next batch. */
struct share_place share_next(const struct share *share, struct share_place at);

/* Is this the next batch, or does it stand for the next one? */
bool share_has_batch(const struct share *share, struct share_place at,
		     const struct message_batch *batch);
bool share_has_bad(const struct share *share, struct share_place at,
		   const struct message_bad_sample *bad);

#endif
