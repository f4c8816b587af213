/* SPDX-License-Identifier: MIT */
/*
 * The two passes of a resample, in a version for each instruction set, all with the same results:
 * resample_plain.c, resample_avx2.c, resample_avx512.c, resample_neon.c. resample.c runs them and
 * keeps the lines between them. A worker's thread.
 */
#ifndef STOKER_TRANSFORM_KERNELS_RESAMPLE_KERNEL_H
#define STOKER_TRANSFORM_KERNELS_RESAMPLE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transform/resample.h"

#define RESAMPLE_HALF (1 << (AXIS_PRECISION - 1)) /* added to a sum, it rounds to nearest */
#define RESAMPLE_GROUP_MAX 4

/*
 * The part of the first pass's result that the second one still needs.
 *
 * Columns first: a ring of lines. Some rows of the source go through the first pass together, as a
 * group. Group g, counted from the first row that is read, is in line g % count; the count is a
 * power of two. Rows first: a group of rows as wide as what is read of the source, a line each.
 */
struct lines {
	const struct resample *resample;
	uint8_t *pixels; /* lines of `stride` bytes; of groups, packed as the kernel likes */
	size_t stride;
	int32_t *held; /* which group a line holds, or -1 */
	int32_t count;
	int32_t fetched; /* rows of the source, from the first that is read */
	uint8_t *table;	 /* the kernel's own memory */
	uint8_t *result; /* of the second pass: a row of the picture, or a group of them */
};

struct resample_kernel {
	int32_t group; /* rows, a power of two */
	/* Bytes of a group as wide as the result, of the kernel's own memory, and of a row of the
	 * result. */
	size_t (*line)(const struct resample *resample);
	size_t (*table)(const struct resample *resample);
	size_t (*result)(const struct resample *resample);
	/* Prepare. False: it cannot do these weights, the next plainer kernel takes over. */
	bool (*begin)(const struct lines *lines);
	/* The pass along x: `group` rows, from the first column that is read on, to a group: packed
	 * for the other pass, or, rows first, rows of line() / group bytes, one after the other. */
	void (*columns)(const struct lines *lines, const uint8_t *const *rows, uint8_t *out);
	/* The pass along y: rows `span`, counted from the first that is read, of the lines or, rows
	 * first, of the picture, to a row. */
	void (*rows)(const struct lines *lines, struct span span, const int32_t *weights,
		     uint8_t *out);
};

extern const struct resample_kernel resample_plain, resample_avx2, resample_avx512, resample_neon;

static inline int32_t lines_place(const struct lines *lines, int32_t group)
{
	return group & (lines->count - 1);
}

static inline uint8_t *lines_at(const struct lines *lines, int32_t group)
{
	return lines->pixels + (size_t)lines_place(lines, group) * lines->stride;
}

/* Row `row` of the picture, counted from the first that is read, from the first column that is. */
static inline const uint8_t *resample_source(const struct resample *resample, int32_t row)
{
	const struct image *image = &resample->image;
	return image->pixels + 3 * (size_t)(resample->x->source.first - image->area.x) +
	       (size_t)(resample->y->source.first + row - image->area.y) * image->stride;
}

/* Bytes of a row that the pass along y makes. */
static inline size_t resample_row(const struct resample *resample)
{
	return 3 * (size_t)(resample->rows_first ? resample->x->source.count : resample->width);
}

/* Offset of a column's pixels, in bytes from the first column that is read. */
static inline size_t resample_column(const struct resample *resample, int32_t x)
{
	const struct axis *axis = resample->x;
	return 3 * (size_t)(axis->spans[resample->columns[x]].first - axis->source.first);
}

static inline const int32_t *resample_weights(const struct resample *resample, int32_t x)
{
	return resample->x->weights + (size_t)resample->columns[x] * (size_t)resample->x->stride;
}

/* Reserve the next piece of a block of memory; each begins a cache line. */
static inline size_t piece_after(size_t *bytes, size_t piece)
{
	size_t at = *bytes;
	*bytes += (piece + 63) & ~(size_t)63;
	return at;
}

#endif
