/* SPDX-License-Identifier: MIT */
/* A stage in a folder of its own, and items that are two words each: their number and version. */
#ifndef STOKER_TESTS_UNIT_STAGE_FIXTURE_H
#define STOKER_TESTS_UNIT_STAGE_FIXTURE_H

#include "stage/stage.h"

#define BLOCK ((uint64_t)4096)
#define SECOND ((uint64_t)1000000000)

extern char folder[64];
extern struct stage *stage;

int setup(void **state); /* the folder */
int teardown(void **state);

void begin(uint64_t size); /* the stage, of what is in the folder */
struct stage_set *set_new(unsigned user);
struct stage_item item_of(const char *origin, uint64_t number, uint64_t version);
void keep(struct stage_set *set, const char *origin, uint64_t number, uint64_t version);
/* Is it kept? Then its bytes are right. */
bool found(struct stage_set *set, const char *origin, uint64_t number, uint64_t version);

#endif
