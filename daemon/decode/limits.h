/* SPDX-License-Identifier: MIT */
/*
 * The checks of an image against its limits (struct decode_limits), for codecs: before the work or
 * the allocation that a limit guards. Any thread; know no format.
 */
#ifndef STOKER_DECODE_LIMITS_H
#define STOKER_DECODE_LIMITS_H

#include <stdint.h>

#include "base/fault.h"
#include "decode/decode.h"

/* Before any allocation by size: 0, DECODE_E_LIMIT, or DECODE_E_CORRUPT for an empty image. */
int limits_check_size(const struct decode_limits *limits, uint64_t width, uint64_t height,
		      struct fault *fault);

/* Check a wide picture, too, whose pixels may take more than those of three bytes. */
int limits_check_form(const struct decode_limits *limits, uint64_t width, uint64_t height,
		      struct image_form form, struct fault *fault);

/* 0, or DECODE_E_LIMIT when the thread has used the image's CPU time, or nobody wants the image;
 * `start_ns` is its CPU time when the image began. A system call: not for every pixel. */
int limits_check_time(const struct decode_limits *limits, uint64_t start_ns, struct fault *fault);

#endif
