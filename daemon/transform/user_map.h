/* SPDX-License-Identifier: MIT */
/*
 * Map: a place in a list of transforms at which the user's own code gets the picture, in a process
 * of the user's (loop/engine/lend.h). What stands before it makes the picture that the code gets;
 * what stands behind it goes on with the picture that the code gives. Knows the code by its
 * identity only. Any thread.
 */
#ifndef STOKER_TRANSFORM_USER_MAP_H
#define STOKER_TRANSFORM_USER_MAP_H

#include <stdio.h>

#include "base/fault.h"
#include "proto/value.h"

struct packer;

#define USER_MAP_CODE 65 /* with its end */

struct user_map {
	char code[USER_MAP_CODE];
	char *arrays; /* owned; NULL: the code gives pictures */
	char *shown; /* ... without the room of ragged ones, which is no part of what a stream is */
};

enum {
	USER_MAP_E_VALUE = 1,
};

/* Find the place of the first Map in a list of transforms, or how many they are. */
uint32_t user_map_find(const struct value *transforms);
/* Check one map {name, code, arrays}. 0, USER_MAP_E_VALUE or -ENOMEM. */
int user_map_parse(struct user_map *out, const struct value *map, struct fault *fault);
void user_map_deinit(struct user_map *map);

/* Write its canonical text, "|" behind it; and pack what user_map_parse() takes. Both without
 * rooms. */
void user_map_write(FILE *file, const struct user_map *map);
void user_map_pack(struct packer *packer, const struct user_map *map);

#endif
