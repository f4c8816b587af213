/* SPDX-License-Identifier: MIT */
/*
 * Tells the pictures that are kept of each dataset (cache/picture_cache.h) which streams go through
 * it, in which order, so that they know what is needed next. What has a sampler or echoes its
 * samples is left out. Loop thread; each second.
 */
#ifndef STOKER_LOOP_ENGINE_PACE_H
#define STOKER_LOOP_ENGINE_PACE_H

#include <stdint.h>

struct core;

void pace_tick(struct core *core, uint64_t now_ns);

#endif
