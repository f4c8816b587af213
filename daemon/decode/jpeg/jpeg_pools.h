/* SPDX-License-Identifier: MIT */
/*
 * A memory manager for libjpeg, on an arena: libjpeg's own calls malloc and free a dozen times an
 * image. All its pools end with the image, the permanent one too, since jpeg.c begins every image
 * with a fresh object. A worker's thread; of libjpeg it knows this one interface.
 *
 * The virtual arrays, which hold a file of several scans, stay within max_memory_to_use, as with
 * libjpeg's own manager; beyond it libjpeg's error is JERR_NO_BACKING_STORE.
 */
#ifndef STOKER_DECODE_JPEG_JPEG_POOLS_H
#define STOKER_DECODE_JPEG_JPEG_POOLS_H

#include <stdio.h> /* jpeglib.h needs it */

#include <jpeglib.h>

#include "decode/arena.h"

struct jpeg_pools {
	struct jpeg_memory_mgr methods; /* first: libjpeg has a pointer to it */
	struct arena *arena;		/* borrowed */
	struct jvirt_barray_control *arrays;
};

void jpeg_pools_init(struct jpeg_pools *pools, struct arena *arena);
/* Free all that libjpeg took for the last image. */
void jpeg_pools_reset(struct jpeg_pools *pools);

#endif
