/* SPDX-License-Identifier: MIT */
/*
 * CMYK of JPEG files to RGB, with Pillow's rounding. Adobe stores CMYK inverted (255 is no ink),
 * and Pillow takes every CMYK JPEG to be stored so. Pure; any thread.
 */
#ifndef STOKER_DECODE_CMYK_H
#define STOKER_DECODE_CMYK_H

#include <stddef.h>
#include <stdint.h>

/* Convert `count` pixels of 4 bytes to 3 bytes each. */
void cmyk_to_rgb(const uint8_t *from, uint8_t *to, size_t count);

#endif
