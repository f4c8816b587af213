/* SPDX-License-Identifier: MIT */
/*
 * Decoded pictures on the disk (cache-decoded-size), and rewritten files, below what
 * cache/picture_cache.h keeps in memory: a folder with a file for each (picture_file.h), named by
 * what it shows. Written under another name and renamed, so that a daemon that is killed leaves
 * whole pictures and unfinished files, which the next one deletes.
 *
 * A picture is found by the content of the file that was decoded (struct stamp), not by its path:
 * who asks has read that content, which is the proof that he may see it, whoever had it decoded.
 * The stamps are made with the store's secret, which lies in the folder. Another version of the
 * decoder makes a new secret and begins again.
 *
 * All files stay within the limit at any time. In the table is what the folder has: some 120 bytes
 * a picture. What gives way is decided as in memory: of the user with the most, what saves the
 * least or is needed last; and what nobody has come for when it was expected, or since the daemon
 * began, goes first.
 *
 * A disk that refuses to be written costs a pause; what is there is still read. Where decoding with
 * a seek index is quicker than the disk, it is not asked for such files (read_speed.h).
 *
 * Any thread. One lock, never held while the disk is waited for. Knows no format of files, no
 * stream and no loop.
 */
#ifndef STOKER_STORE_PICTURE_STORE_H
#define STOKER_STORE_PICTURE_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/list.h"
#include "cache/picture_cache.h"
#include "store/picture_file.h"
#include "store/read_speed.h"

struct stored_picture;

struct picture_store {
	int fd; /* of the folder */
	struct digest_secret secret;
	bool again;	   /* the pictures that are there are of another secret */
	atomic_bool ready; /* the folder was looked through */
	_Atomic uint64_t limit, bytes, pictures;
	_Atomic uint64_t hits, fills, replaced, damaged;
	struct read_speed speed;
	_Atomic uint64_t pause_ns; /* nothing is written until then ... */
	_Atomic int refusal;	   /* ... because of this errno; 0: the last write went well */
	_Atomic uint64_t number;   /* of the next unfinished file */
	pthread_mutex_t lock;
	struct picture_owners owners;
	struct list expected; /* of known time, the least recently used first */
	struct stored_picture **table;
	size_t count, buckets;
};

enum { PICTURE_STORE_E_SYSTEM = 1 };

/* In the folder `fd`, which is the store's from now on, also on failure. `version`: of what makes
 * pixels of files. Reads no picture: picture_store_trim() does. 0, with words if the
 * secret was damaged, so that all pictures go; PICTURE_STORE_E_SYSTEM with words, or -ENOMEM. */
int picture_store_open(struct picture_store **out, int fd, uint64_t limit,
		       const struct digest *version, struct fault *fault);
void picture_store_close(struct picture_store *store); /* nobody uses it; accepts NULL */

const struct digest_secret *picture_store_secret(const struct picture_store *store);

void picture_store_set_limit(struct picture_store *store, uint64_t limit);
/* Do the work that may take long: at first list the folder; delete files above the limit; and
 * expire pictures that nobody used when it was expected. */
void picture_store_trim(struct picture_store *store, uint64_t now_ns);
/* All that it has goes. */
void picture_store_drop(struct picture_store *store);

/* Has it the pixels at this scale or, with `any`, at another one, which `key` then gets; or the
 * file? False also if it is of a kind for which the disk is too slow, unless `slow`: that was asked
 * before. */
bool picture_store_has(struct picture_store *store, struct stored_key *key, bool any, bool slow);

/* Open the picture; what is damaged is deleted. False: there is none. */
bool picture_store_load(struct picture_store *store, const struct stored_key *key,
			struct picture_file *out);
/* Read rows of it, measured. False: it is damaged, and deleted, or the disk refuses. */
bool picture_store_read(struct picture_store *store, const struct stored_key *key,
			const struct picture_file *file, struct rect part, uint8_t *to);
/* Read a rewritten file whole. False: there is none, or the same. */
bool picture_store_read_file(struct picture_store *store, const struct stored_key *key,
			     struct buffer *out);
/* Count a use in place of the file by a sample of this set. */
void picture_store_hit(struct picture_store *store, const struct stored_key *key,
		       const struct picture_set *set, const struct forecast *forecast);

/* Claim to room: the user of the picture to be written, and its worth. */
struct stored_claim {
	const struct picture_set *set;
	unsigned user;
	enum picture_worth worth;
	const struct picture_use *use;
};

/* Can the pixels of each sample of the set have so many bytes? If not, it is better to keep many
 * rewritten files than few pictures. */
bool picture_store_affords(const struct picture_store *store, const struct picture_set *set,
			   uint64_t pixels);
/* Would so many bytes be written? `roomy`: only where nothing has to give way. */
bool picture_store_wants(struct picture_store *store, const struct stored_key *key, uint64_t bytes,
			 const struct stored_claim *claim, bool roomy);
/* Write a whole picture, unless something is in the way. */
void picture_store_keep(struct picture_store *store, const struct stored_key *key,
			const struct stored_shape *shape, const uint8_t *pixels,
			const struct stored_claim *claim);

/* Write a rewritten file, in the same way. */
void picture_store_keep_file(struct picture_store *store, const struct stored_key *key,
			     const struct buffer *file, const struct stored_claim *claim);

/* Is anything kept on the disk at present? */
bool picture_store_is_on(const struct picture_store *store);
/* Has it nothing? A quick look, before anything is asked of the file. */
bool picture_store_is_empty(const struct picture_store *store);

#endif
