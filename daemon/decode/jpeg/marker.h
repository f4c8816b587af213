/* SPDX-License-Identifier: MIT */
/* The markers of a JPEG, found in its bytes without decoding. Pure; any thread. */
#ifndef STOKER_DECODE_JPEG_MARKER_H
#define STOKER_DECODE_JPEG_MARKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Count the scans (SOS markers) from `at` on; stops at one more than `enough`. */
unsigned marker_count_scans(const uint8_t *at, const uint8_t *end, unsigned enough);
/* Does entropy-coded data go on from `at` to an end marker, without other markers than restarts? */
bool marker_scan_is_plain(const uint8_t *at, size_t size);
/* Is there an end marker (EOI)? */
bool marker_has_end(const uint8_t *at, size_t size);

#endif
