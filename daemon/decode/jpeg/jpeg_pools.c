// SPDX-License-Identifier: MIT
#include "decode/jpeg/jpeg_pools.h"

#include <string.h>

#include <jerror.h>

/* A virtual array: rows of coefficients of a whole picture, cleared when they are first accessed.
 */
struct jvirt_barray_control {
	struct jvirt_barray_control *next;
	JBLOCKARRAY rows;		/* NULL until it is realized */
	JDIMENSION width, height, most; /* blocks in a row, rows, rows of one access */
	JDIMENSION cleared;		/* rows */
};

static struct jpeg_pools *pools_of(j_common_ptr cinfo)
{
	return (struct jpeg_pools *)cinfo->mem;
}

static void *take(j_common_ptr cinfo, size_t size)
{
	void *piece = arena_take(pools_of(cinfo)->arena, size);
	if (!piece)
		ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
	return piece;
}

static void *alloc(j_common_ptr cinfo, int pool, size_t size)
{
	(void)pool;
	return take(cinfo, size);
}

/* Whole cache lines, which libjpeg's vector code needs. */
static size_t line_up(size_t bytes)
{
	return (bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
}

static void *take_rows(j_common_ptr cinfo, size_t row_bytes, JDIMENSION count)
{
	char **rows = take(cinfo, count * sizeof(*rows));
	char *bytes = take(cinfo, row_bytes * count);
	for (JDIMENSION i = 0; i < count; i++)
		rows[i] = bytes + i * row_bytes;
	return rows;
}

static JSAMPARRAY alloc_sarray(j_common_ptr cinfo, int pool, JDIMENSION width, JDIMENSION height)
{
	(void)pool;
	return take_rows(cinfo, line_up(width * sizeof(JSAMPLE)), height);
}

static JBLOCKARRAY alloc_barray(j_common_ptr cinfo, int pool, JDIMENSION width, JDIMENSION height)
{
	(void)pool;
	return take_rows(cinfo, width * sizeof(JBLOCK), height);
}

static jvirt_sarray_ptr request_virt_sarray(j_common_ptr cinfo, int pool, boolean clear,
					    JDIMENSION width, JDIMENSION height, JDIMENSION most)
{
	(void)pool, (void)clear, (void)width, (void)height, (void)most;
	ERREXIT(cinfo, JERR_NOTIMPL); /* only colour quantisation uses them */
	return NULL;
}

static JSAMPARRAY access_virt_sarray(j_common_ptr cinfo, jvirt_sarray_ptr array, JDIMENSION first,
				     JDIMENSION count, boolean writable)
{
	(void)array, (void)first, (void)count, (void)writable;
	ERREXIT(cinfo, JERR_BAD_VIRTUAL_ACCESS);
	return NULL;
}

static jvirt_barray_ptr request_virt_barray(j_common_ptr cinfo, int pool, boolean clear,
					    JDIMENSION width, JDIMENSION height, JDIMENSION most)
{
	struct jpeg_pools *pools = pools_of(cinfo);
	struct jvirt_barray_control *array = take(cinfo, sizeof(*array));
	(void)pool, (void)clear; /* all are cleared: cheap beside filling them */
	*array = (struct jvirt_barray_control){
		.next = pools->arrays,
		.width = width,
		.height = height,
		.most = most,
	};
	pools->arrays = array;
	return array;
}

static void realize_virt_arrays(j_common_ptr cinfo)
{
	struct jpeg_pools *pools = pools_of(cinfo);
	size_t limit = (size_t)cinfo->mem->max_memory_to_use;
	for (struct jvirt_barray_control *array = pools->arrays; array; array = array->next) {
		if (array->rows)
			continue;
		size_t row = array->width * sizeof(JBLOCK) + sizeof(JBLOCKROW);
		size_t used = pools->arena->taken;
		if (limit > 0 && (used > limit || row * array->height > limit - used))
			ERREXIT(cinfo, JERR_NO_BACKING_STORE);
		array->rows = alloc_barray(cinfo, JPOOL_IMAGE, array->width, array->height);
	}
}

static JBLOCKARRAY access_virt_barray(j_common_ptr cinfo, jvirt_barray_ptr array, JDIMENSION first,
				      JDIMENSION count, boolean writable)
{
	if (!array->rows || first > array->height || count > array->height - first ||
	    count > array->most)
		ERREXIT(cinfo, JERR_BAD_VIRTUAL_ACCESS);
	JDIMENSION end = first + count;
	(void)writable;
	if (array->cleared < end) {
		size_t rows = end - array->cleared;
		memset(array->rows[array->cleared], 0, rows * array->width * sizeof(JBLOCK));
		array->cleared = end;
	}
	return array->rows + first;
}

static void keep_pool(j_common_ptr cinfo, int pool)
{
	(void)cinfo, (void)pool;
}

static void keep_all(j_common_ptr cinfo)
{
	(void)cinfo;
}

void jpeg_pools_init(struct jpeg_pools *pools, struct arena *arena)
{
	*pools = (struct jpeg_pools){
		.methods =
			{
				.alloc_small = alloc,
				.alloc_large = alloc,
				.alloc_sarray = alloc_sarray,
				.alloc_barray = alloc_barray,
				.request_virt_sarray = request_virt_sarray,
				.request_virt_barray = request_virt_barray,
				.realize_virt_arrays = realize_virt_arrays,
				.access_virt_sarray = access_virt_sarray,
				.access_virt_barray = access_virt_barray,
				.free_pool = keep_pool,
				.self_destruct = keep_all,
				.max_alloc_chunk = 1000000000,
			},
		.arena = arena,
	};
}

void jpeg_pools_reset(struct jpeg_pools *pools)
{
	pools->arrays = NULL;
	pools->methods.max_memory_to_use = 0;
	arena_reset(pools->arena);
}
