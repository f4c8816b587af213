/* SPDX-License-Identifier: MIT */
/*
 * Rules of Pillow for a JPEG's segments before the first scan, beside those of libjpeg: the
 * segments that it looks into are long enough. Reads bytes, keeps nothing.
 */
#ifndef STOKER_DECODE_JPEG_JPEG_RULES_H
#define STOKER_DECODE_JPEG_JPEG_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

/* 0, or DECODE_E_CORRUPT of a file that Pillow refuses. A file that ends before its first scan is
 * left to libjpeg. */
int jpeg_rules_check(const uint8_t *data, size_t size, struct fault *fault);

#endif
