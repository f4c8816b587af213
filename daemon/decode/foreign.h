/* SPDX-License-Identifier: MIT */
/*
 * Formats of pictures that no codec decodes, told by content: for messages. Constant; any thread.
 */
#ifndef STOKER_DECODE_FOREIGN_H
#define STOKER_DECODE_FOREIGN_H

#include <stddef.h>
#include <stdint.h>

/* "HEIC"; NULL: none that is known here. */
const char *foreign_name(const uint8_t *data, size_t size);

#endif
