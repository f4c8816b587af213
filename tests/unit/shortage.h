/* SPDX-License-Identifier: MIT */
/*
 * Memory that runs out at a chosen call (FAULTS 53). The linker puts shortage.c in the place of
 * malloc, calloc, realloc and aligned_alloc, for the calls of whatever is linked with it, libraries
 * apart. Each thread has counts of its own: others are spared. For tests alone.
 */
#ifndef STOKER_TESTS_SHORTAGE_H
#define STOKER_TESTS_SHORTAGE_H

extern __thread unsigned allocations; /* calls so far */
extern __thread unsigned fail_at;     /* the one of them that gets none; 0: each gets some */

#endif
