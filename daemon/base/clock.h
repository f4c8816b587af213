/* SPDX-License-Identifier: MIT */
/* Clocks in nanoseconds. Any thread. */
#ifndef STOKER_BASE_CLOCK_H
#define STOKER_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Monotonic time since an unspecified start; not the time of day. */
static inline uint64_t clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CPU time of the calling thread. */
static inline uint64_t clock_thread_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
