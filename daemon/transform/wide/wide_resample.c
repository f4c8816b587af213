// SPDX-License-Identifier: MIT
#include "transform/wide/wide_resample.h"

#define TOGETHER 64 /* samples of a row whose sums are made side by side */

static inline __attribute__((always_inline)) double sample(enum image_type type, const uint8_t *row,
							   size_t at)
{
	return type == IMAGE_UINT16 ? (double)((const uint16_t *)(const void *)row)[at]
				    : (double)((const float *)(const void *)row)[at];
}

/* Pillow cuts each of the two bytes by itself: a sum above 65535 keeps its lower byte. */
static uint16_t uint16_of(double sum)
{
	const int32_t number = sum >= 0.0 ? (int32_t)(sum + 0.5) : -(int32_t)(0.5 - sum);
	const int32_t low = number % 256, high = number >> 8;
	return (uint16_t)((high < 0 ? 0 : high > 255 ? 255 : high) << 8 | (low < 0 ? 0 : low));
}

static inline __attribute__((always_inline)) void put(enum image_type type, uint8_t *row, size_t at,
						      double sum)
{
	if (type == IMAGE_UINT16)
		((uint16_t *)(void *)row)[at] = uint16_of(sum);
	else
		((float *)(void *)row)[at] = (float)sum;
}

struct image_size wide_resample_size(const struct wide_resample *pass)
{
	return pass->along_y ? (struct image_size){pass->across.count, pass->axis->count}
			     : (struct image_size){pass->axis->count, pass->across.count};
}

/* The pixel (x, y) of the picture, which is in the image's area. */
static const uint8_t *pixel_at(const struct wide_resample *pass, int32_t x, int32_t y)
{
	const struct image *image = &pass->image;
	return image->pixels + (size_t)(y - image->area.y) * image->stride +
	       (size_t)(x - image->area.x) * image_pixel_bytes(pass->form);
}

/* A row of a pass along x. */
static inline __attribute__((always_inline)) void row_along_x(const struct wide_resample *pass,
							      enum image_type type,
							      const uint8_t *row, uint8_t *out)
{
	const struct axis *axis = pass->axis;
	const size_t channels = pass->form.channels;
	for (int32_t x = 0; x < axis->count; x++) {
		const double *weights = axis->exact + (size_t)x * (size_t)axis->stride;
		const struct span span = axis->spans[x];
		const size_t first = (size_t)(span.first - pass->image.area.x) * channels;
		for (size_t c = 0; c < channels; c++) {
			double sum = 0.0;
			for (int32_t i = 0; i < span.count; i++)
				sum += sample(type, row, first + (size_t)i * channels + c) *
				       weights[i];
			put(type, out, (size_t)x * channels + c, sum);
		}
	}
}

/* Row `y` of a pass along y. */
static inline __attribute__((always_inline)) void
row_along_y(const struct wide_resample *pass, enum image_type type, int32_t y, uint8_t *out)
{
	const struct axis *axis = pass->axis;
	const double *weights = axis->exact + (size_t)y * (size_t)axis->stride;
	const struct span span = axis->spans[y];
	const size_t count = (size_t)pass->across.count * pass->form.channels;
	for (size_t first = 0; first < count; first += TOGETHER) {
		const size_t here = count - first < TOGETHER ? count - first : TOGETHER;
		double sums[TOGETHER] = {0};
		for (int32_t i = 0; i < span.count; i++) {
			const uint8_t *row = pixel_at(pass, pass->across.first, span.first + i);
			for (size_t n = 0; n < here; n++)
				sums[n] += sample(type, row, first + n) * weights[i];
		}
		for (size_t n = 0; n < here; n++)
			put(type, out, first + n, sums[n]);
	}
}

static void row_of(const struct wide_resample *pass, int32_t y, uint8_t *out)
{
	const bool whole = pass->form.type == IMAGE_UINT16;
	const uint8_t *row =
		pass->along_y ? NULL : pixel_at(pass, pass->image.area.x, pass->across.first + y);
	if (pass->along_y && whole)
		row_along_y(pass, IMAGE_UINT16, y, out);
	else if (pass->along_y)
		row_along_y(pass, IMAGE_FLOAT32, y, out);
	else if (whole)
		row_along_x(pass, IMAGE_UINT16, row, out);
	else
		row_along_x(pass, IMAGE_FLOAT32, row, out);
}

bool wide_resample_run(const struct wide_resample *pass, uint8_t *out, struct image *image_out,
		       struct cancel *cancel)
{
	const struct image_size size = wide_resample_size(pass);
	const size_t stride = (size_t)size.width * image_pixel_bytes(pass->form);
	const uint64_t work = (uint64_t)size.width * (uint64_t)pass->axis->widest;
	for (int32_t y = 0; y < size.height; y++) {
		if (cancel_after(cancel, work))
			return false;
		row_of(pass, y, out + (size_t)y * stride);
	}
	*image_out = (struct image){
		out, stride, size.width, size.height, {0, 0, size.width, size.height}};
	image_out->form = pass->form;
	return true;
}
