/* SPDX-License-Identifier: MIT */
/*
 * libjpeg's memory manager on an arena: the library's own takes and gives back a dozen blocks an
 * image. Its pools all end with the image here, the permanent one too: jpeg.c begins every image
 * with an object as good as new. A worker's thread; of libjpeg it knows this one interface.
 *
 * What a file of several scans makes the library hold (its virtual arrays) stays within the
 * manager's max_memory_to_use, as with the library's own, or the library is told that it has no
 * backing store (JERR_NO_BACKING_STORE).
 */
#ifndef STOKER_DECODE_JPEG_JPEG_POOLS_H
#define STOKER_DECODE_JPEG_JPEG_POOLS_H

#include <stdio.h> /* jpeglib.h needs it */

#include <jpeglib.h>

#include "base/arena.h"

struct jpeg_pools {
	struct jpeg_memory_mgr methods; /* first: the library knows it by this */
	struct arena *arena;		/* borrowed */
	struct jvirt_barray_control *arrays;
};

void jpeg_pools_init(struct jpeg_pools *pools, struct arena *arena);
/* What the library took for the last image is the arena's again. */
void jpeg_pools_reset(struct jpeg_pools *pools);

#endif
