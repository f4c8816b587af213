/* SPDX-License-Identifier: MIT */
/*
 * 128-bit digests: fingerprints of datasets, hashes of pipelines and streams. XXH3-128, which tells
 * contents apart but does not resist forgery; and XXH3-64 under a random secret, which nobody can
 * steer who neither knows the secret nor sees the hashes. The only user of xxhash in the daemon.
 * Plain memory of the caller; any thread.
 */
#ifndef STOKER_BASE_DIGEST_H
#define STOKER_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest {
	uint8_t bytes[16]; /* XXH128's canonical (big-endian) form: the same on every machine */
};

struct digest_state; /* for data that comes in pieces */

struct digest digest_of(const void *data, size_t size);
int digest_begin(struct digest_state **out); /* 0 or -ENOMEM */
void digest_add(struct digest_state *state, const void *data, size_t size);
void digest_add_u64(struct digest_state *state, uint64_t number); /* as 8 little-endian bytes */
struct digest digest_end(struct digest_state *state);		  /* frees the state */
void digest_hex(const struct digest *digest, char out[33]);
bool digest_equal(const struct digest *a, const struct digest *b);

struct digest_secret {
	uint8_t bytes[192];
};

int digest_secret_make(struct digest_secret *out); /* 0 or a negative errno */
uint64_t digest_secret_of(const struct digest_secret *secret, const void *data, size_t size);

#endif
