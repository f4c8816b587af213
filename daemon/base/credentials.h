/* SPDX-License-Identifier: MIT */
/*
 * Credentials: who somebody is to the kernel. Any thread.
 */
#ifndef STOKER_BASE_CREDENTIALS_H
#define STOKER_BASE_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Number that the kernel gives every user and group of another user namespace: see
 * user_namespaces(7). */
#define CREDENTIALS_UNMAPPED 65534

struct credentials {
	pid_t pid; /* 0: of another PID namespace */
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* the supplementary ones; owned */
	uint32_t group_count;
};
#define CREDENTIALS_NULL ((struct credentials){.uid = (uid_t)-1, .gid = (gid_t)-1})

int credentials_copy(struct credentials *out, const struct credentials *from); /* 0 or -ENOMEM */
void credentials_deinit(struct credentials *credentials);

/* Nobody is user or member of what the kernel could not map. */
bool credentials_is_user(const struct credentials *credentials, uid_t uid);
bool credentials_is_member(const struct credentials *credentials, gid_t gid);
/* Compare user and groups, which are in the same order. */
bool credentials_same_rights(const struct credentials *a, const struct credentials *b);
/* Root, and who runs this process: they can read what it can in other ways, too. */
bool credentials_are_own(const struct credentials *credentials);

#endif
