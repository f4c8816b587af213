// SPDX-License-Identifier: MIT
/* The filters in C: doubles and their order as in Pillow; bytes are truncated, not rounded. */
#include "transform/kernels/warp_kernel.h"

static inline double mix(double from, double to, double part)
{
	return from + (to - from) * part;
}

static inline double mix_bytes(uint8_t from, uint8_t to, double part)
{
	return from + (to - from) * part;
}

static inline void bilinear_pixel(const struct image *image, double x, double y, uint8_t *pixel)
{
	int32_t column = warp_floor(x), line = warp_floor(y);
	size_t left = warp_column(image, column), right = warp_column(image, column + 1);
	const uint8_t *above = warp_line(image, line), *below = warp_line(image, line + 1);
	double across = x - column, down = y - line;
	for (int i = 0; i < 3; i++, left++, right++)
		pixel[i] = (uint8_t)mix(mix_bytes(above[left], above[right], across),
					mix_bytes(below[left], below[right], across), down);
}

void warp_bilinear(const struct warp_row *row)
{
	warp_filter_row(row, bilinear_pixel);
}

/* A cubic through four values, at `part` of the way from the second to the third. */
static inline double curve(const double v[4], double part)
{
	double slope = -v[0] + v[2];
	double bend = 2.0 * (v[0] - v[1]) + v[2] - v[3];
	double twist = -v[0] + v[1] - v[2] + v[3];
	return v[1] + part * (slope + part * (bend + part * twist));
}

static inline double curve_bytes(const uint8_t *line, const size_t at[4], double part)
{
	int a = line[at[0]], b = line[at[1]], c = line[at[2]], d = line[at[3]];
	int bend = 2 * (a - b) + c - d, twist = b - a - c + d;
	return b + part * (c - a + part * (bend + part * twist));
}

static inline uint8_t byte_of(double value)
{
	return value <= 0.0 ? 0 : value >= 255.0 ? 255 : (uint8_t)value;
}

static inline void bicubic_pixel(const struct image *image, double x, double y, uint8_t *pixel)
{
	int32_t column = warp_floor(x), line = warp_floor(y);
	const uint8_t *lines[4];
	size_t columns[4];
	for (int i = 0; i < 4; i++) {
		columns[i] = warp_column(image, column - 1 + i);
		lines[i] = warp_line(image, line - 1 + i);
	}
	for (int channel = 0; channel < 3; channel++) {
		double values[4];
		for (int i = 0; i < 4; i++)
			values[i] = curve_bytes(lines[i] + channel, columns, x - column);
		pixel[channel] = byte_of(curve(values, y - line));
	}
}

void warp_bicubic(const struct warp_row *row)
{
	warp_filter_row(row, bicubic_pixel);
}
