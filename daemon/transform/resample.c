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
#elif defined(__aarch64__)
	[CPU_NEON] = &resample_neon,
#endif
};

/* Groups that one result is made of, as a power of two; rows first, the rows of a group. */
static int32_t lines_count(const struct resample *resample, const struct resample_kernel *kernel)
{
	int32_t groups = (resample->y->widest + kernel->group - 2) / kernel->group + 1, count = 1;
	if (resample->rows_first)
		return kernel->group;
	while (count < groups)
		count *= 2;
	return count;
}

static int lines_begin(struct lines *lines, const struct resample_kernel *kernel,
		       struct buffer *scratch)
{
	const struct resample *resample = lines->resample;
	const bool rows_first = resample->rows_first;
	size_t bytes = 0, group = kernel->line(resample);
	lines->count = lines_count(resample, kernel);
	lines->stride = ((rows_first ? resample_row(resample) : group) + 63) & ~(size_t)63;
	size_t pixels = piece_after(&bytes, (size_t)lines->count * lines->stride);
	size_t held = piece_after(&bytes, (size_t)lines->count * sizeof(*lines->held));
	size_t table = piece_after(&bytes, kernel->table(resample));
	size_t result = piece_after(&bytes, rows_first ? group : kernel->result(resample));
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
 * Pictures that are kept as decoded are in no cache, and the first pass, which reads some rows side
 * by side with gaps between them, waits for each line. One load after the other brings a stretch of
 * them at four times that speed, the gaps included: the processor sees where it goes, which
 * prefetches do not tell it (measured; they change nothing).
 */
static void lines_fetch(struct lines *lines, const struct resample_kernel *kernel, int32_t group)
{
	const struct resample *resample = lines->resample;
	const struct image *image = &resample->image;
	const struct span *source = &resample->y->source;
	size_t bytes = 3 * (size_t)resample->x->source.count, stride = image->stride;
	int32_t row = group * kernel->group;
	if (!image->cold || row < lines->fetched || stride > GAPS_MOST * bytes)
		return;
	int32_t rows = (int32_t)(STRETCH / stride) / kernel->group * kernel->group;
	rows = rows > kernel->group ? rows : kernel->group;
	lines->fetched = row + rows;
	rows = lines->fetched < source->count ? rows : source->count - row;
	const volatile uint8_t *at = resample_source(resample, row);
	for (size_t byte = 0; byte < (size_t)(rows - 1) * stride + bytes; byte += 64)
		(void)at[byte];
}

/* A group that reaches past the source's last row repeats that row. */
static void lines_make(struct lines *lines, const struct resample_kernel *kernel, int32_t group)
{
	const struct resample *resample = lines->resample;
	const int32_t end = resample->y->source.count;
	const uint8_t *rows[RESAMPLE_GROUP_MAX];
	for (int32_t i = 0; i < kernel->group; i++) {
		int32_t row = group * kernel->group + i;
		rows[i] = resample_source(resample, row < end ? row : end - 1);
	}
	lines_fetch(lines, kernel, group);
	kernel->columns(lines, rows, lines_at(lines, group));
	lines->held[lines_place(lines, group)] = group;
}

/* Have these rows of the source ready, as lines or, rows first, in the processor's caches. */
static void lines_reach(struct lines *lines, const struct resample_kernel *kernel, struct span span)
{
	int bits = __builtin_ctz((unsigned)kernel->group);
	int32_t last = (span.first + span.count - 1) >> bits;
	for (int32_t group = span.first >> bits; group <= last; group++) {
		if (lines->resample->rows_first)
			lines_fetch(lines, kernel, group);
		else if (lines->held[lines_place(lines, group)] != group)
			lines_make(lines, kernel, group);
	}
}

/* Row `y` of the result, as far as the pass along y makes it. */
static void rows_make(struct lines *lines, const struct resample_kernel *kernel, int32_t y,
		      uint8_t *out)
{
	const struct axis *axis = lines->resample->y;
	size_t row = (size_t)lines->resample->rows[y];
	struct span span = axis->spans[row];
	span.first -= axis->source.first;
	lines_reach(lines, kernel, span);
	kernel->rows(lines, span, axis->weights + row * (size_t)axis->stride, out);
}

static void run_columns_first(struct lines *lines, const struct resample_kernel *kernel,
			      resample_put *put, void *context)
{
	for (int32_t y = 0; y < lines->resample->height; y++) {
		rows_make(lines, kernel, y, lines->result);
		if (!put(context, y, lines->result))
			return;
	}
}

/* Rows that are wanted once more, as borders are, and those behind the last one, are those before
 * them. */
static void run_rows_first(struct lines *lines, const struct resample_kernel *kernel,
			   resample_put *put, void *context)
{
	const struct resample *resample = lines->resample;
	const int32_t height = resample->height;
	const size_t stride = kernel->line(resample) / (size_t)kernel->group;
	for (int32_t y = 0; y < height; y += kernel->group) {
		const uint8_t *rows[RESAMPLE_GROUP_MAX];
		for (int32_t i = 0; i < kernel->group; i++) {
			uint8_t *line = lines->pixels + (size_t)i * lines->stride;
			if (i > 0 && (y + i >= height ||
				      resample->rows[y + i] == resample->rows[y + i - 1])) {
				rows[i] = rows[i - 1];
				continue;
			}
			rows_make(lines, kernel, y + i, line);
			rows[i] = line;
		}
		kernel->columns(lines, rows, lines->result);
		for (int32_t i = 0; i < kernel->group && y + i < height; i++)
			if (!put(context, y + i, lines->result + (size_t)i * stride))
				return;
	}
}

int resample_run(const struct resample *resample, enum cpu cpu, struct buffer *scratch,
		 resample_put *put, void *context)
{
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
	if (resample->rows_first)
		run_rows_first(&lines, kernel, put, context);
	else
		run_columns_first(&lines, kernel, put, context);
	return 0;
}
