/* SPDX-License-Identifier: MIT */
/*
 * The frame of a record in a TFRecord file: 8 bytes of length, their checksum, the content, its
 * checksum; little-endian. The bytes are hostile. Pure; any thread.
 */
#ifndef STOKER_DATASET_SHARDS_RECORD_H
#define STOKER_DATASET_SHARDS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

#define RECORD_HEAD 12 /* before the content */
#define RECORD_TAIL 4  /* behind it */

enum {
	RECORD_E_BAD = 1, /* no frame, or its checksum is wrong; the words say why */
};

/* The content's length, of a file that ends `left` bytes behind the frame's begin. */
int record_parse(const uint8_t head[RECORD_HEAD], uint64_t left, uint64_t *length_out,
		 struct fault *fault);
/* Is this the content, with the checksum behind it? `size` is that of both, RECORD_TAIL at least.
 */
bool record_is_whole(const uint8_t *content, size_t size);

#endif
