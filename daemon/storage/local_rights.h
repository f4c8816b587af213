/* SPDX-License-Identifier: MIT */
/*
 * Rights of another user beneath a folder that was handed over as a descriptor: the kernel checks
 * the daemon's rights, this checks the user's as well. A directory on the way must let the user
 * search, what is opened must let the user read, by owner, group and mode. Where there is an ACL it
 * counts as no, but for the owner. Blocks; any thread.
 */
#ifndef STOKER_STORAGE_LOCAL_RIGHTS_H
#define STOKER_STORAGE_LOCAL_RIGHTS_H

struct credentials;

enum { RIGHTS_SEARCH = 1, RIGHTS_READ = 4 };

/* Has the reader these rights to the open file? 0, -EACCES or another negative errno. */
int rights_check(int fd, const struct credentials *reader, unsigned rights);
/* A descriptor of what `key` leads to from the folder on, where the reader can get; or a negative
 * errno, -EXDEV if it leads out. Links are followed within the folder. */
int rights_open(int folder, const char *key, int flags, const struct credentials *reader);

#endif
