// SPDX-License-Identifier: MIT
#include "transform/keras/keras_warp.h"

#include <math.h>
#include <string.h>

#include "transform/keras/keras_warp_kernel.h"

static void plan_plain(const struct keras_warp *warp, const struct source *source, int32_t i,
		       const struct places *places)
{
	double row = warp->m[0][0] * i, column = warp->m[1][0] * i;
	for (int32_t j = 0; j < source->width; j++) {
		double from = warp->flip[0] ? source->width - 1.0 - j : j;
		keras_place(warp, source, (row + warp->m[0][1] * from) + warp->m[0][2],
			    (column + warp->m[1][1] * from) + warp->m[1][2], places, j);
	}
}

static void pick_plain(const struct source *source, const struct places *places, float *out)
{
	for (int32_t j = 0; j < source->width; j++, out += 3) {
		if (places->at[j] == KERAS_OUTSIDE)
			continue;
		const uint8_t *above = source->pixels + places->at[j];
		const uint8_t *below = above + source->down;
		float left[3], right[3];
		blend_bytes_loop(above, below, places->down[j], 3, left);
		blend_bytes_loop(above + source->right, below + source->right, places->down[j], 3,
				 right);
		blend_loop(left, right, places->right[j], 3, out);
	}
}

static void blend_bytes_plain(const uint8_t *first, const uint8_t *second, float part, size_t n,
			      float *out)
{
	blend_bytes_loop(first, second, part, n, out);
}

static void blend_plain(const float *first, const float *second, float part, size_t n, float *out)
{
	blend_loop(first, second, part, n, out);
}

static void pick_numbers_plain(const struct source *source, const struct places *places, float *out)
{
	pick_numbers_all(source, places, out);
}

static void blend_numbers_plain(const float *first, const float *second, float part, size_t n,
				float *out)
{
	blend_numbers_loop(first, second, part, n, out);
}

static const struct keras_kernels kernels_plain = {plan_plain,	       pick_plain,
						   pick_numbers_plain, blend_bytes_plain,
						   blend_plain,	       blend_numbers_plain};

static const struct keras_kernels *kernels_for(enum cpu cpu)
{
#if defined(__x86_64__)
	if (cpu >= CPU_AVX2)
		return &keras_kernels_avx2;
#elif defined(__aarch64__)
	if (cpu >= CPU_NEON)
		return &keras_kernels_neon;
#endif
	(void)cpu;
	return &kernels_plain;
}

/* Numbers of a row of the result. */
static size_t row_numbers(const struct source *source)
{
	return (size_t)source->channels * (size_t)source->width;
}

static void fill_numbers(float *out, float value, size_t n)
{
	for (size_t k = 0; k < n; k++)
		out[k] = value;
}

static void fill_beside(const struct source *source, const struct places *places, float value,
			float *out)
{
	size_t channels = (size_t)source->channels;
	for (int32_t j = 0; j < source->width; j++) {
		if (places->at[j] == KERAS_OUTSIDE)
			fill_numbers(out + channels * (size_t)j, value, channels);
	}
}

static void run_general(const struct keras_warp *warp, const struct source *source,
			const struct keras_kernels *kernels, const struct places *places,
			float *out)
{
	keras_pick *pick = source->numbers ? kernels->pick_numbers : kernels->pick;
	for (int32_t n = 0; n < source->height; n++, out += row_numbers(source)) {
		kernels->plan(warp, source, warp->flip[1] ? source->height - 1 - n : n, places);
		pick(source, places, out);
		if (warp->fill == KERAS_FILL_CONSTANT)
			fill_beside(source, places, warp->cval, out);
	}
}

/* --- a shift only: whole rows are interpolated, then their columns --- */

/* The columns that come from consecutive pixels: [first, end). */
struct run {
	int32_t first, end;
};

static struct run find_run(const struct places *columns, int32_t width, double shift)
{
	double first = ceil(-shift), end = floor(width - 1 - shift) + 1.0;
	struct run run = {first < 0.0	  ? 0
			  : first > width ? width
					  : (int32_t)first,
			  end < 0.0	? 0
			  : end > width ? width
					: (int32_t)end};
	/* The last pixel is given as the one before it and a part of 1. */
	if (run.end > run.first && columns->right[run.end - 1] == 1.0f)
		run.end--;
	if (run.end < run.first)
		run.end = run.first;
	return run;
}

KERAS_INLINE void turn_loop(const float *row, int32_t width, size_t channels, float *out)
{
	row += channels * (size_t)width;
	for (int32_t j = 0; j < width; j++, out += channels)
		memcpy(out, row -= channels, channels * sizeof(*out));
}

static void turn_row(const struct source *source, const float *row, float *out)
{
	if (source->channels == 3) /* a constant, for memcpy() */
		turn_loop(row, source->width, 3, out);
	else
		turn_loop(row, source->width, (size_t)source->channels, out);
}

/* Shift an interpolated row along itself. */
static void shift_row(const struct source *source, const struct keras_kernels *kernels,
		      const struct places *columns, struct run run, float cval, const float *row,
		      float *out)
{
	const size_t channels = (size_t)source->channels;
	keras_blend *blend = source->numbers ? kernels->blend_numbers : kernels->blend;
	if (run.end > run.first) {
		const float *from = row + columns->at[run.first];
		size_t count = channels * (size_t)(run.end - run.first);
		float part = columns->right[run.first];
		if (part == 0.0f)
			memcpy(out + channels * (size_t)run.first, from, count * sizeof(*out));
		else
			blend(from, from + source->right, part, count,
			      out + channels * (size_t)run.first);
	}
	for (int32_t j = 0; j < source->width; j++) {
		if (j == run.first)
			j = run.end;
		if (j >= source->width)
			break;
		const float *from = row + columns->at[j];
		if (columns->at[j] == KERAS_OUTSIDE)
			fill_numbers(out + channels * (size_t)j, cval, channels);
		else
			blend(from, from + source->right, columns->right[j], channels,
			      out + channels * (size_t)j);
	}
}

/* A row between two of the picture: `part` of the way from one to that below it. */
static void blend_rows(const struct source *source, const struct keras_kernels *kernels,
		       int32_t above, float part, float *row)
{
	size_t n = row_numbers(source), at = (size_t)above * (size_t)source->stride;
	if (source->numbers)
		kernels->blend_numbers(source->numbers + at, source->numbers + at + source->down,
				       part, n, row);
	else
		kernels->blend_bytes(source->pixels + at, source->pixels + at + source->down, part,
				     n, row);
}

static void run_shift(const struct keras_warp *warp, const struct source *source,
		      const struct keras_kernels *kernels, const struct places *columns,
		      float *lines, float *out)
{
	size_t numbers = row_numbers(source);
	float *row = lines, *shifted = lines + numbers;
	for (int32_t j = 0; j < source->width; j++)
		keras_place(warp, source, 0.0, j + warp->m[1][2], columns, j);
	struct run run = find_run(columns, source->width, warp->m[1][2]);
	for (int32_t n = 0; n < source->height; n++, out += numbers) {
		double at = (warp->flip[1] ? source->height - 1 - n : n) + warp->m[0][2];
		if (!keras_bring_in(warp->fill, &at, source->height)) {
			fill_numbers(out, warp->cval, numbers);
			continue;
		}
		int32_t above = keras_pixel_before(at, source->height);
		blend_rows(source, kernels, above, (float)(at - above), row);
		shift_row(source, kernels, columns, run, warp->cval, row,
			  warp->flip[0] ? shifted : out);
		if (warp->flip[0])
			turn_row(source, shifted, out);
	}
}

static bool is_shift(const struct keras_warp *warp)
{
	return warp->m[0][0] == 1.0 && warp->m[0][1] == 0.0 && warp->m[1][0] == 0.0 &&
	       warp->m[1][1] == 1.0;
}

int keras_warp_run(const struct keras_warp *warp, const struct image *image, enum cpu cpu,
		   struct buffer *scratch, float *out)
{
	const int32_t channels = image->form.channels ? (int32_t)image->form.channels : 3;
	struct source source = {
		.pixels = image->pixels,
		.numbers = image->form.channels ? (const float *)(const void *)image->pixels : NULL,
		.height = image->height,
		.width = image->width,
		.channels = channels,
		.stride = (int32_t)(image->stride / (image->form.channels ? sizeof(float) : 1)),
		.right = image->width > 1 ? (size_t)channels : 0,
	};
	source.down = image->height > 1 ? (size_t)source.stride : 0;
	size_t width = (size_t)image->width, most = width + BUFFER_SLACK; /* of each array */
	int r = buffer_reserve(scratch, (3 + 2 * (size_t)channels) * most * sizeof(float));
	if (r < 0)
		return r;
	float *numbers = (float *)(void *)scratch->data;
	const struct places places = {(int32_t *)(void *)scratch->data, numbers + most,
				      numbers + 2 * most};
	const struct keras_kernels *kernels = kernels_for(cpu);
	if (is_shift(warp))
		run_shift(warp, &source, kernels, &places, numbers + 3 * most, out);
	else
		run_general(warp, &source, kernels, &places, out);
	return 0;
}
