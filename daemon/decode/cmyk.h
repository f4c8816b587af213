/* SPDX-License-Identifier: MIT */
/*
 * CMYK as JPEG files have it to RGB. Adobe's is stored inverted, so a stored sample is how little
 * ink there is. Pillow takes every CMYK file for such a one, and rounds like this. Pure.
 */
#ifndef STOKER_DECODE_CMYK_H
#define STOKER_DECODE_CMYK_H

#include <stddef.h>
#include <stdint.h>

/* `count` pixels of 4 bytes to as many of 3. */
void ink_to_rgb(const uint8_t *from, uint8_t *to, size_t count);

#endif
