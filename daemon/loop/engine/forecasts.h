/* SPDX-License-Identifier: MIT */
/*
 * Courses of streams for the caches: tells the pictures (cache/picture_cache.h) and objects
 * (stage/stage.h) that are kept of each dataset which streams go through it, in which order, so
 * that they know what is needed next. Streams with a sampler or echoes are left out. Loop thread;
 * each second, and of a new ring at once.
 */
#ifndef STOKER_LOOP_ENGINE_FORECASTS_H
#define STOKER_LOOP_ENGINE_FORECASTS_H

#include <stdint.h>

struct core;
struct ring;

/* Add the course of a ring that has just been made. */
void forecasts_add(const struct ring *ring);
void forecasts_tick(struct core *core, uint64_t now_ns);

#endif
