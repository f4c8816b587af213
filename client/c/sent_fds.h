/* SPDX-License-Identifier: MIT */
/*
 * Descriptors of a dataset, and of a sampler's list, for a daemon that runs as another user: they
 * prove that the client may read the files (PROTOCOL.md, section 6). A file that cannot be opened
 * is left out: a rule of the daemon may allow it.
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

/* Does this daemon want descriptors? One of the client's own user needs none: its rights are the
 * same. */
bool sent_fds_is_wanted(int socket, const struct message_welcome *welcome);

void sent_fds_close(struct sent_fds *fds); /* may be called twice */

/* Open the files of a dataset, and add their numbers to its map, which is open in `packer`; for a
 * pattern of shards also the kind. Paths are absolute, or URLs; NULL where the map has none. */
void sent_fds_add_dataset(struct sent_fds *fds, struct packer *packer, const char *path,
			  const char *kind, const char *root, const char *labels);

/* Open the file of a sampler's list. `map` is the sampler, packed; a copy with the list's number is
 * added to `packer`. 0, -ENOMEM, or a condition of unpack(). */
int sent_fds_add_sampler(struct sent_fds *fds, struct packer *packer, struct text map);

#endif
