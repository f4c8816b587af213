/* SPDX-License-Identifier: MIT */
/*
 * Descriptors of a dataset, and of a sampler's list, for a daemon of another user: they show what
 * this one may read (PROTOCOL.md, section 6). What cannot be opened is left out: a rule of the
 * daemon may allow it.
 */
#ifndef STOKER_CLIENT_SENT_FDS_H
#define STOKER_CLIENT_SENT_FDS_H

#include <stdbool.h>

#define SENT_FDS_MAX 34 /* that the daemon takes with a message */

struct message_welcome;
struct packer;
struct text;

struct sent_fds {
	int fds[SENT_FDS_MAX]; /* owned */
	unsigned count;
};
#define SENT_FDS_NULL ((struct sent_fds){.count = 0})

/* Is it worth to send descriptors? The daemon of one's own has one's own rights. */
bool sent_fds_is_wanted(int socket, const struct message_welcome *welcome);

void sent_fds_close(struct sent_fds *fds); /* may be called twice */

/* Open what the map of a dataset names and add to the map, which is open in `packer`, the numbers;
 * for a pattern of shards the kind, too. Paths are absolute, or URLs; what is not given is NULL. */
void sent_fds_add_dataset(struct sent_fds *fds, struct packer *packer, const char *path,
			  const char *kind, const char *root, const char *labels);

/* Add the list of a sampler, whose map is complete: a copy of it, with the number of its list, goes
 * to `packer`. 0, -ENOMEM, or a condition of unpack(). */
int sent_fds_add_sampler(struct sent_fds *fds, struct packer *packer, struct text map);

#endif
