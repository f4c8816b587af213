// SPDX-License-Identifier: MIT
#include "transform/resample.h"

#include <string.h>

#include "transform/kernels/resample_kernel.h"

#define STRETCH ((size_t)256 << 10) /* bytes of the source that are fetched at a time */
#define GAPS_MOST 4		    /* as many bytes as are wanted of them */

static const struct resample_kernel *const kernels[] = {
	[CPU_PLAIN] = &resample_plain,
#if defined(__x86_64__)
	[CPU_AVX2] = &resample_avx2,
	[CPU_AVX512] = &resample_avx512,
#endif
};

static int lines_begin(struct lines *lines, const struct resample_kernel *kernel,
		       struct buffer *scratch)
{
	const struct resample *resample = lines->resample;
	size_t bytes = 0;
	int32_t groups = (resample->y->widest + kernel->group - 2) / kernel->group + 1;
	lines->count = 1;
	while (lines->count < groups)
		lines->count *= 2;
	lines->stride = (kernel->line(resample) + 63) & ~(size_t)63;
	size_t pixels = piece_after(&bytes, (size_t)lines->count * lines->stride);
	size_t held = piece_after(&bytes, (size_t)lines->count * sizeof(*lines->held));
	size_t table = piece_after(&bytes, kernel->table(resample));
	size_t result = piece_after(&bytes, kernel->result(resample));
	int r = buffer_reserve(scratch, bytes);
	if (r < 0)
		return r;
	lines->pixels = scratch->data + pixels;
	lines->held = (int32_t *)(scratch->data + held);
	lines->table = scratch->data + table;
	lines->result = scratch->data + result;
	memset(lines->held, 0xff, (size_t)lines->count * sizeof(*lines->held));
	return 0;
}

/*
 * Pictures that are kept as decoded are in no cache, and the first pass, which reads four rows side
 * by side with gaps between them, waits for each line. One load after the other brings a stretch of
 * them at four times that speed, the gaps included: the processor sees where it goes, which
 * prefetches do not tell it (measured; they change nothing).
 */
static void lines_fetch(struct lines *lines, const struct resample_kernel *kernel,
			const uint8_t *pixels, int32_t group)
{
	const struct image *image = &lines->resample->image;
	const struct span *source = &lines->resample->y->source;
	size_t bytes = 3 * (size_t)lines->resample->x->source.count, stride = image->stride;
	int32_t row = group * kernel->group;
	if (!image->cold || row < lines->fetched || stride > GAPS_MOST * bytes)
		return;
	int32_t rows = (int32_t)(STRETCH / stride) / kernel->group * kernel->group;
	rows = rows > kernel->group ? rows : kernel->group;
	lines->fetched = row + rows;
	rows = lines->fetched < source->count ? rows : source->count - row;
	const volatile uint8_t *at =
		pixels + (size_t)(source->first + row - image->area.y) * stride;
	for (size_t byte = 0; byte < (size_t)(rows - 1) * stride + bytes; byte += 64)
		(void)at[byte];
}

/* A group that reaches past the source's last row repeats that row. */
static void lines_make(struct lines *lines, const struct resample_kernel *kernel, int32_t group)
{
	const struct image *image = &lines->resample->image;
	const struct span *columns = &lines->resample->x->source;
	const struct span *source = &lines->resample->y->source;
	const uint8_t *pixels = image->pixels + 3 * (size_t)(columns->first - image->area.x);
	const uint8_t *rows[RESAMPLE_GROUP_MAX];
	for (int32_t i = 0; i < kernel->group; i++) {
		int32_t row = group * kernel->group + i;
		row = source->first + (row < source->count ? row : source->count - 1);
		rows[i] = pixels + (size_t)(row - image->area.y) * image->stride;
	}
	lines_fetch(lines, kernel, pixels, group);
	kernel->columns(lines, rows, lines_at(lines, group));
	lines->held[lines_place(lines, group)] = group;
}

static void lines_reach(struct lines *lines, const struct resample_kernel *kernel, struct span span)
{
	int bits = __builtin_ctz((unsigned)kernel->group);
	int32_t last = (span.first + span.count - 1) >> bits;
	for (int32_t group = span.first >> bits; group <= last; group++) {
		if (lines->held[lines_place(lines, group)] != group)
			lines_make(lines, kernel, group);
	}
}

int resample_run(const struct resample *resample, enum cpu cpu, struct buffer *scratch,
		 resample_put *put, void *context)
{
	const struct axis *axis = resample->y;
	struct lines lines = {.resample = resample};
	const struct resample_kernel *kernel;
	bool ready = false;
	for (int i = (int)cpu; !ready; i--) {
		kernel = kernels[i];
		int r = lines_begin(&lines, kernel, scratch);
		if (r < 0)
			return r;
		ready = kernel->begin(&lines);
	}
	for (int32_t y = 0; y < resample->height; y++) {
		size_t row = (size_t)resample->rows[y];
		struct span span = axis->spans[row];
		span.first -= axis->source.first;
		lines_reach(&lines, kernel, span);
		kernel->rows(&lines, span, axis->weights + row * (size_t)axis->stride);
		if (!put(context, y, lines.result))
			break;
	}
	return 0;
}
