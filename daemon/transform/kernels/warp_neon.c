// SPDX-License-Identifier: MIT
/* For NEON: a pixel's channels side by side in two registers, in double precision. A fourth byte is
 * read behind a pixel, and written and then overwritten by the next pixel. */
#include "transform/kernels/neon.h"
#include "transform/kernels/warp_kernel.h"

struct channels {
	float64x2_t front, back; /* red and green, blue and nothing */
};

/* Bytes `at` and at + 1 of a word. */
INLINE float64x2_t pair_widen(uint8x16_t word, uint8_t at)
{
	static const uint8_t places[16] = {0, 64, 64, 64, 64, 64, 64, 64,
					   1, 64, 64, 64, 64, 64, 64, 64};
	uint8x16_t from = vaddq_u8(vld1q_u8(places), vdupq_n_u8(at));
	return vcvtq_f64_u64(vreinterpretq_u64_u8(vqtbl1q_u8(word, from)));
}

INLINE struct channels pixel_load(const uint8_t *pixel)
{
	uint32_t bytes;
	memcpy(&bytes, pixel, sizeof(bytes));
	uint8x16_t word = vreinterpretq_u8_u32(vdupq_n_u32(bytes));
	return (struct channels){pair_widen(word, 0), pair_widen(word, 2)};
}

/* Truncated, not rounded, and clamped to a byte. */
INLINE void pixel_store(uint8_t *pixel, struct channels value)
{
	int32x4_t words =
		vqmovn_high_s64(vqmovn_s64(vcvtq_s64_f64(value.front)), vcvtq_s64_f64(value.back));
	uint16x4_t halves = vqmovun_s32(words);
	uint32_t bytes =
		vget_lane_u32(vreinterpret_u32_u8(vqmovn_u16(vcombine_u16(halves, halves))), 0);
	memcpy(pixel, &bytes, sizeof(bytes));
}

INLINE struct channels add(struct channels a, struct channels b)
{
	return (struct channels){vaddq_f64(a.front, b.front), vaddq_f64(a.back, b.back)};
}

INLINE struct channels subtract(struct channels a, struct channels b)
{
	return (struct channels){vsubq_f64(a.front, b.front), vsubq_f64(a.back, b.back)};
}

/* Not fused: each operation is rounded. */
INLINE struct channels mix(struct channels from, struct channels by, double part)
{
	return add(from,
		   (struct channels){vmulq_n_f64(by.front, part), vmulq_n_f64(by.back, part)});
}

INLINE struct channels mix_pixels(const uint8_t *from, const uint8_t *to, double part)
{
	struct channels first = pixel_load(from);
	return mix(first, subtract(pixel_load(to), first), part);
}

INLINE void bilinear_pixel(const struct image *image, double x, double y, uint8_t *pixel)
{
	int32_t column = warp_floor(x), line = warp_floor(y);
	size_t left = warp_column(image, column), right = warp_column(image, column + 1);
	const uint8_t *above = warp_line(image, line), *below = warp_line(image, line + 1);
	struct channels top = mix_pixels(above + left, above + right, x - column);
	struct channels bottom = mix_pixels(below + left, below + right, x - column);
	pixel_store(pixel, mix(top, subtract(bottom, top), y - line));
}

void warp_bilinear_neon(const struct warp_row *row)
{
	warp_filter_row(row, bilinear_pixel);
}

/* As curve() in warp_filter.c, in its order; for bytes all but the last line is exact. */
INLINE struct channels curve(const struct channels v[4], double part)
{
	struct channels slope = subtract(v[2], v[0]), down = subtract(v[0], v[1]);
	struct channels bend = subtract(add(add(down, down), v[2]), v[3]);
	struct channels twist = add(subtract(subtract(v[1], v[0]), v[2]), v[3]);
	return mix(v[1], mix(slope, mix(bend, twist, part), part), part);
}

INLINE void bicubic_pixel(const struct image *image, double x, double y, uint8_t *pixel)
{
	int32_t column = warp_floor(x), line = warp_floor(y);
	struct channels values[4];
	size_t columns[4];
	for (int i = 0; i < 4; i++)
		columns[i] = warp_column(image, column - 1 + i);
	for (int i = 0; i < 4; i++) {
		const uint8_t *from = warp_line(image, line - 1 + i);
		const struct channels four[4] = {
			pixel_load(from + columns[0]), pixel_load(from + columns[1]),
			pixel_load(from + columns[2]), pixel_load(from + columns[3])};
		values[i] = curve(four, x - column);
	}
	pixel_store(pixel, curve(values, y - line));
}

void warp_bicubic_neon(const struct warp_row *row)
{
	warp_filter_row(row, bicubic_pixel);
}
