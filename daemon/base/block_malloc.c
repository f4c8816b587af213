// SPDX-License-Identifier: MIT
/* Built instead of block.c for sanitizers: they see who reads or writes beside malloc's memory. */
#include "base/block.h"

#include <stdlib.h>

void *block_new(size_t size, size_t used)
{
	(void)used;
	return aligned_alloc(BLOCK_ALIGN, size);
}

void block_free(void *block, size_t size)
{
	(void)size;
	free(block);
}
