// SPDX-License-Identifier: MIT
#include "transform/warp.h"

#include <math.h>

#include "transform/kernels/resample_kernel.h"
#include "transform/kernels/warp_kernel.h"

#define FIXED_MOST 32768.0 /* pixels, in 16.16 bits */

/* One run: where the pixels of a row come from. */
struct run {
	const struct warp *warp;
	const struct image *image;
	const int32_t *columns;
	int32_t width;
	double *x, *y, *z;	     /* each column's part of the sums; z: of the divisor */
	double *at_x, *at_y;	     /* the places, for filters */
	int32_t *to_x, *to_y;	     /* the nearest pixels */
	uint32_t *fixed_x, *fixed_y; /* each column's part of these, in 16.16 bits */
	int32_t *scaled[2];	     /* the nearest column and row, if x and y are independent */
	uint8_t *pixels;
	uint8_t fill[4];
};

/* The conversion to int32_t as an x86 does it: out of range is INT32_MIN. */
static int32_t whole(double number)
{
	return number > -2147483649.0 && number < 2147483648.0 ? (int32_t)number : INT32_MIN;
}

static int32_t pixel_at(double place)
{
	return place < 0.0 ? -1 : whole(place);
}

/* --- where pixels come from: sums in Pillow's order --- */

static void columns_begin(struct run *run)
{
	const double *a = run->warp->a;
	for (int32_t i = 0; i < run->width; i++) {
		double x = run->columns[i] + 0.5;
		run->x[i] = a[0] * x;
		run->y[i] = a[3] * x;
		run->z[i] = a[6] * x;
	}
}

static void row_affine(const struct run *run, int32_t row)
{
	const double *a = run->warp->a, y = row + 0.5;
	double down_x = a[1] * y, down_y = a[4] * y;
	for (int32_t i = 0; i < run->width; i++) {
		run->at_x[i] = run->x[i] + down_x + a[2];
		run->at_y[i] = run->y[i] + down_y + a[5];
	}
}

static void row_perspective(const struct run *run, int32_t row)
{
	const double *a = run->warp->a, y = row + 0.5;
	double down_x = a[1] * y, down_y = a[4] * y, down_z = a[7] * y;
	for (int32_t i = 0; i < run->width; i++) {
		double z = run->z[i] + down_z + 1.0;
		run->at_x[i] = (run->x[i] + down_x + a[2]) / z;
		run->at_y[i] = (run->y[i] + down_y + a[5]) / z;
	}
}

static void row_places(const struct run *run, int32_t row)
{
	if (run->warp->kind == WARP_PERSPECTIVE)
		row_perspective(run, row);
	else
		row_affine(run, row);
}

/* --- the nearest pixel --- */

/* A picture has less than 2^31 bytes: IMAGE_PIXELS_MAX. */
static void nearest_row(const struct run *run)
{
	const struct image *image = run->image;
	const uint32_t width = (uint32_t)image->width, height = (uint32_t)image->height;
	const uint32_t stride = (uint32_t)image->stride;
	int32_t *restrict at = run->to_x;
	const int32_t *restrict to_y = run->to_y;
	const int32_t count = run->width;
	for (int32_t i = 0; i < count; i++) {
		uint32_t x = (uint32_t)at[i], y = (uint32_t)to_y[i];
		bool inside = (x < width) & (y < height);
		at[i] = inside ? (int32_t)(y * stride + 3 * x) : -1;
	}
	/* With the byte behind each pixel: a word is copied faster than three bytes. */
	uint8_t *pixel = run->pixels;
	for (int32_t i = 0; i < count; i++, pixel += 3)
		memcpy(pixel, at[i] < 0 ? run->fill : image->pixels + at[i], 4);
}

/* From the places as filters take them. */
static void nearest_general(const struct run *run, int32_t row)
{
	row_places(run, row);
	for (int32_t i = 0; i < run->width; i++) {
		run->to_x[i] = pixel_at(run->at_x[i]);
		run->to_y[i] = pixel_at(run->at_y[i]);
	}
}

static bool is_fixed_at(const double *a, double x, double y)
{
	return fabs(x * a[0] + y * a[1] + a[2]) < FIXED_MOST &&
	       fabs(x * a[3] + y * a[4] + a[5]) < FIXED_MOST;
}

static bool is_fixed(const struct warp *warp)
{
	double width = warp->size[0], height = warp->size[1];
	return is_fixed_at(warp->a, 0, 0) && is_fixed_at(warp->a, width, height) &&
	       is_fixed_at(warp->a, 0, height) && is_fixed_at(warp->a, width, 0);
}

/* In 16.16 bits; overflow wraps around. */
static uint32_t fixed(double number)
{
	return (uint32_t)whole(floor(number * 65536.0 + 0.5));
}

static void fixed_begin(const struct run *run)
{
	uint32_t across_x = fixed(run->warp->a[0]), across_y = fixed(run->warp->a[3]);
	for (int32_t i = 0; i < run->width; i++) {
		run->fixed_x[i] = across_x * (uint32_t)run->columns[i];
		run->fixed_y[i] = across_y * (uint32_t)run->columns[i];
	}
}

static void nearest_fixed(const struct run *run, int32_t row)
{
	const double *a = run->warp->a;
	uint32_t first_x = fixed(a[2] + a[0] * 0.5 + a[1] * 0.5) + fixed(a[1]) * (uint32_t)row;
	uint32_t first_y = fixed(a[5] + a[3] * 0.5 + a[4] * 0.5) + fixed(a[4]) * (uint32_t)row;
	const uint32_t *restrict fixed_x = run->fixed_x, *restrict fixed_y = run->fixed_y;
	int32_t *restrict to_x = run->to_x, *restrict to_y = run->to_y;
	const int32_t count = run->width;
	for (int32_t i = 0; i < count; i++) {
		to_x[i] = (int32_t)(first_x + fixed_x[i]) >> 16;
		to_y[i] = (int32_t)(first_y + fixed_y[i]) >> 16;
	}
}

/* Check that x does not depend on y, nor y on x. */
static bool is_scale(const struct warp *warp)
{
	return warp->kind == WARP_AFFINE && warp->filter == FILTER_NEAREST && warp->a[1] == 0.0 &&
	       warp->a[3] == 0.0;
}

/* Added up from the first, as Pillow does. */
static void scale_axis(double first, double step, int32_t count, int32_t *out)
{
	for (int32_t i = 0; i < count; i++, first += step)
		out[i] = pixel_at(first);
}

static void scale_begin(const struct run *run)
{
	const double *a = run->warp->a;
	scale_axis(a[2] + a[0] * 0.5, a[0], run->warp->size[0], run->scaled[0]);
	scale_axis(a[5] + a[4] * 0.5, a[4], run->warp->size[1], run->scaled[1]);
	for (int32_t i = 0; i < run->width; i++)
		run->fixed_x[i] = (uint32_t)run->scaled[0][run->columns[i]];
}

static void nearest_scale(const struct run *run, int32_t row)
{
	for (int32_t i = 0; i < run->width; i++) {
		run->to_x[i] = (int32_t)run->fixed_x[i];
		run->to_y[i] = run->scaled[1][row];
	}
}

/* Copy the nearest pixels; where fixed point does not suffice, Pillow adds up doubles, and here
 * they are multiplied. */
static void nearest_run(const struct run *run, const int32_t *rows, int32_t height,
			resample_put *put, void *context)
{
	const struct warp *warp = run->warp;
	void (*places)(const struct run *run, int32_t row) = nearest_general;
	if (is_scale(warp)) {
		places = nearest_scale;
		scale_begin(run);
	} else if (warp->kind == WARP_AFFINE && is_fixed(warp)) {
		places = nearest_fixed;
		fixed_begin(run);
	}
	for (int32_t j = 0; j < height; j++) {
		places(run, rows[j]);
		nearest_row(run);
		if (!put(context, j, run->pixels))
			return;
	}
}

/* --- */

static void filter_run(const struct run *run, const int32_t *rows, int32_t height,
		       warp_filter *filter, resample_put *put, void *context)
{
	const struct warp_row row = {run->image, run->fill, run->width,
				     run->at_x,	 run->at_y, run->pixels};
	for (int32_t j = 0; j < height; j++) {
		row_places(run, rows[j]);
		filter(&row);
		if (!put(context, j, run->pixels))
			return;
	}
}

static warp_filter *filter_for(enum filter filter, enum cpu cpu)
{
	bool bicubic = filter == FILTER_BICUBIC;
#if defined(__x86_64__)
	if (cpu >= CPU_AVX2)
		return bicubic ? warp_bicubic_avx2 : warp_bilinear_avx2;
#elif defined(__aarch64__)
	if (cpu >= CPU_NEON)
		return bicubic ? warp_bicubic_neon : warp_bilinear_neon;
#endif
	(void)cpu;
	return bicubic ? warp_bicubic : warp_bilinear;
}

static int run_begin(struct run *run, struct buffer *scratch)
{
	size_t bytes = 0, width = (size_t)run->width;
	size_t numbers[5], places[4], scaled[2];
	size_t entry = is_scale(run->warp) ? sizeof(int32_t) : 0;
	for (int i = 0; i < 5; i++)
		numbers[i] = piece_after(&bytes, width * sizeof(double));
	for (int i = 0; i < 4; i++)
		places[i] = piece_after(&bytes, width * sizeof(int32_t));
	for (int i = 0; i < 2; i++)
		scaled[i] = piece_after(&bytes, (size_t)run->warp->size[i] * entry);
	size_t pixels = piece_after(&bytes, 3 * width + 1);
	int r = buffer_reserve(scratch, bytes);
	if (r < 0)
		return r;
	double **number[5] = {&run->x, &run->y, &run->z, &run->at_x, &run->at_y};
	for (int i = 0; i < 5; i++)
		*number[i] = (double *)(scratch->data + numbers[i]);
	run->to_x = (int32_t *)(scratch->data + places[0]);
	run->to_y = (int32_t *)(scratch->data + places[1]);
	run->fixed_x = (uint32_t *)(scratch->data + places[2]);
	run->fixed_y = (uint32_t *)(scratch->data + places[3]);
	for (int i = 0; i < 2; i++)
		run->scaled[i] = (int32_t *)(scratch->data + scaled[i]);
	run->pixels = scratch->data + pixels;
	memcpy(run->fill, run->warp->fill, sizeof(run->warp->fill));
	columns_begin(run);
	return 0;
}

int warp_run(const struct warp *warp, const struct image *image, const int32_t *columns,
	     int32_t width, const int32_t *rows, int32_t height, enum cpu cpu,
	     struct buffer *scratch, resample_put *put, void *context)
{
	struct run run = {.warp = warp, .image = image, .columns = columns, .width = width};
	int r = run_begin(&run, scratch);
	if (r < 0)
		return r;
	if (warp->filter == FILTER_NEAREST)
		nearest_run(&run, rows, height, put, context);
	else
		filter_run(&run, rows, height, filter_for(warp->filter, cpu), put, context);
	return 0;
}
