/* SPDX-License-Identifier: MIT */
/*
 * Descriptors of a dataset, and of a sampler's list, for a daemon of another user: they show what
 * this one may read (PROTOCOL.md, section 6). What cannot be opened is left out: a rule of the
 * daemon may allow it.
 */
#ifndef STOKER_CLIENT_GIVEN_H
#define STOKER_CLIENT_GIVEN_H

#include <stdbool.h>

#define GIVEN_MAX 34 /* that the daemon takes with a message */

struct message_welcome;
struct packer;
struct text;

struct given {
	int fds[GIVEN_MAX]; /* owned */
	unsigned count;
};
#define GIVEN_NULL ((struct given){.count = 0})

/* Is it worth to send descriptors? The daemon of one's own has one's own rights. */
bool given_is_wanted(int socket, const struct message_welcome *welcome);

void given_close(struct given *given); /* may be called twice */

/* Open what the map of a dataset names and add to the map, which is open in `packer`, the numbers;
 * for a pattern of shards the kind, too. Paths are absolute, or URLs; what is not given is NULL. */
void given_add_dataset(struct given *given, struct packer *packer, const char *path,
		       const char *kind, const char *root, const char *labels);

/* Add the list of a sampler, whose map is complete: a copy of it, with the number of its list, goes
 * to `packer`. 0, -ENOMEM, or a condition of unpack(). */
int given_add_sampler(struct given *given, struct packer *packer, struct text map);

#endif
