/* SPDX-License-Identifier: MIT */
/*
 * Owner: which user something that the daemon keeps is charged to. A file's name says it: of
 * another user than the daemon's own and root, "@UID" stands before the ending. Pure; any thread.
 */
#ifndef STOKER_BASE_OWNER_H
#define STOKER_BASE_OWNER_H

#include <stdint.h>
#include <sys/types.h>

#define OWNER_OF_ALL UINT32_MAX /* root, and the daemon's own user: all may use what is theirs */
#define OWNER_MARK_MAX 16

uint32_t owner_of(uid_t uid);
/* "@UID", or nothing for OWNER_OF_ALL. */
void owner_mark(char out[OWNER_MARK_MAX], uint32_t owner);
/* Owner of a file, by its name without a folder. */
uint32_t owner_of_file(const char *name);

#endif
