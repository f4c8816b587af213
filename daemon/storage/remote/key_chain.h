/* SPDX-License-Identifier: MIT */
/*
 * The daemon's credentials of S3: asked for at the first request, and again before they expire
 * (five minutes, or half of their time), by one thread while the others go on with those that are
 * still good. A source that fails is asked again after some seconds; until its credentials have
 * expired nobody hears of that. Any number of threads; blocks. Asks no server itself
 * (key_source.h).
 */
#ifndef STOKER_STORAGE_REMOTE_KEY_CHAIN_H
#define STOKER_STORAGE_REMOTE_KEY_CHAIN_H

#include <stdbool.h>

#include "base/fault.h"
#include "storage/remote/s3_keys.h"
#include "storage/remote/transfer.h"

struct key_chain;

/* The only one, of the whole process. Who opens a folder gets it here: credentials that are written
 * down are read again. */
struct key_chain *key_chain_of_daemon(void);

/* Take the credentials to sign with, the caller's to drop; NULL: there are none. 0,
 * TRANSFER_E_FAILED or -ENOMEM. */
int key_chain_take(struct key_chain *chain, struct transfers *transfers, struct s3_keys **out,
		   struct fault *fault);
/* Were there any, when they were asked for last? */
bool key_chain_has(struct key_chain *chain);
/* A server says that these have expired: ask for others. False: there are no others. */
bool key_chain_renew(struct key_chain *chain, struct transfers *transfers,
		     const struct s3_keys *expired);

#endif
