/* SPDX-License-Identifier: MIT */
/*
 * The table of a picture store (picture_store.h), for that unit: a row for each file, found by its
 * key, and what gives way to what. The store's lock is held for all of it. Knows no file system.
 */
#ifndef STOKER_STORE_STORED_TABLE_H
#define STOKER_STORE_STORED_TABLE_H

#include "store/picture_store.h"

struct stored_name;

struct stored_picture {
	struct stored_picture *next; /* of the bucket */
	struct stored_key key;
	uint64_t size; /* of the file, charged */
	struct picture_owner *owner;
	const struct picture_set *set; /* who used it last, to compare; NULL: none in time */
	struct victim victim;	       /* nowhere as long as it is being written */
	struct list expected;	       /* in store->expected, if it is known when */
	bool written;
};

/* With `any`, pixels at whatever scale, written. NULL: there is none. */
struct stored_picture *store_look(struct picture_store *store, const struct stored_key *key,
				  bool any);
/* A row for a file of this size, charged; NULL: there is no memory. */
struct stored_picture *store_add(struct picture_store *store, const struct stored_name *name,
				 uint64_t size);
/* Let others find the picture, whose file is there. */
void store_show(struct picture_store *store, struct stored_picture *picture);
/* Expect its next use then. */
void store_expect(struct picture_store *store, struct stored_picture *picture, uint64_t next_ns);
/* Nobody finds it any more. Its bytes are charged until its file is deleted. */
void store_take_out(struct picture_store *store, struct stored_picture *picture);

/* Find what gives way to so many bytes more of this claim; NULL: nothing does. */
struct stored_picture *store_worst(struct picture_store *store, uint64_t size,
				   const struct stored_claim *claim);
/* Would enough give way? Else nothing is to go for it. With more than a trial takes it is
 * assumed. */
bool store_displaces(struct picture_store *store, uint64_t size, const struct stored_claim *claim);

#endif
