/* SPDX-License-Identifier: MIT */
/*
 * The structural check of msgpack bytes, before a parser sees them: depth, counts, lengths. It
 * allocates nothing and knows no msgpack library, no key and no message. Pure; any thread.
 */
#ifndef STOKER_PROTO_CHECK_H
#define STOKER_PROTO_CHECK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Are `bytes` exactly one value within PROTO_DEPTH_MAX (a scalar has depth 0, a list of scalars 1)
 * and PROTO_NODES_MAX (keys count too), without ext? NULL and the number of values in it, or what
 * is wrong.
 */
const char *bytes_check(const uint8_t *bytes, size_t size, uint32_t *nodes_out);
/* Count the values that follow one another in `bytes`, within the same limits. NULL and their
 * number, or the words of an error. */
const char *bytes_count(const uint8_t *bytes, size_t size, uint32_t *count_out);

#endif
