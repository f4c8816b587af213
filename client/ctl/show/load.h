/* SPDX-License-Identifier: MIT */
/*
 * The load of the daemon between two of its STATUS, and what the readers that it has are limited
 * by: figures for proto/advice/limit.h. Pure.
 */
#ifndef STOKER_CTL_LOAD_H
#define STOKER_CTL_LOAD_H

#include <jansson.h>

#include "proto/advice/limit.h"

/* `seconds` lie between the two. */
struct load load_of(const json_t *before, const json_t *after, double seconds);
/* Count the readers of a list that are limited by each; returns by what most of them are,
 * LIMIT_COUNT if by nothing. */
enum limit load_count(const json_t *readers, unsigned counts[LIMIT_COUNT]);

#endif
