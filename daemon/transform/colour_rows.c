// SPDX-License-Identifier: MIT
/*
 * Each loop is written once, so that the compiler can vectorise it, and compiled into a function
 * for each instruction set; for ARM's 64 bits once, as all of these have NEON. Floats and doubles
 * are used where Pillow uses them.
 */
#include "transform/colour_rows.h"

#define INLINE static inline __attribute__((always_inline))
#define CHUNK 256 /* pixels that are split into planes at a time, to stay in the L1 cache */

INLINE int least(int a, int b)
{
	return a < b ? a : b;
}

INLINE int most(int a, int b)
{
	return a > b ? a : b;
}

INLINE uint8_t luma(int red, int green, int blue)
{
	return (uint8_t)((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

INLINE void gray(uint8_t *restrict out, const uint8_t *restrict row, size_t pixels)
{
	for (size_t i = 0; i < pixels; i++) {
		uint8_t value = luma(row[3 * i], row[3 * i + 1], row[3 * i + 2]);
		out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = value;
	}
}

INLINE void blend(uint8_t *restrict out, const uint8_t *restrict from, const uint8_t *restrict to,
		  float amount, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		int value = (int)((float)from[i] + amount * (float)(to[i] - from[i]));
		out[i] = (uint8_t)least(most(value, 0), 255);
	}
}

/* Pillow's (sum / 13) + 0.5 in floats is (2 * sum + 13) / 26 in whole numbers: no sum, up to
 * 13 * 255, comes close enough to a half. */
INLINE void smooth(uint8_t *restrict out, const uint8_t *restrict above,
		   const uint8_t *restrict row, const uint8_t *restrict below, size_t bytes)
{
	for (size_t i = 0; i < 3; i++) {
		out[i] = row[i];
		out[bytes - 3 + i] = row[bytes - 3 + i];
	}
	for (size_t i = 3; i + 3 < bytes; i++) {
		unsigned sum = above[i - 3] + above[i] + above[i + 3] + row[i - 3] + 5u * row[i] +
			       row[i + 3] + below[i - 3] + below[i] + below[i + 3];
		out[i] = (uint8_t)((2 * sum + 13) / 26);
	}
}

/* Replace red, green and blue by Pillow's HSV. */
INLINE void hsv_of_rgb(uint8_t (*restrict plane)[CHUNK], size_t pixels)
{
	for (size_t i = 0; i < pixels; i++) {
		int red = plane[0][i], green = plane[1][i], blue = plane[2][i];
		int high = most(red, most(green, blue)), low = least(red, least(green, blue));
		int first = red == high ? blue : green == high ? red : green;
		int second = red == high ? green : green == high ? blue : red;
		double base = red == high ? 0.0 : green == high ? 2.0 : 4.0;
		float range = (float)most(high - low, 1);
		float p = (float)(high - first) / range, q = (float)(high - second) / range;
		float sixth = (float)(base + (double)p - (double)q);
		double turn = (double)sixth / 6.0 + 1.0;
		float hue = (float)(turn - (turn >= 1.0 ? 1.0 : 0.0));
		float saturation = (float)(high - low) / (float)most(high, 1);
		int angle = (int)((double)hue * 255.0);
		plane[0][i] = (uint8_t)(high == low ? 0 : angle);
		plane[1][i] = (uint8_t)(int)((double)saturation * 255.0);
		plane[2][i] = (uint8_t)high;
	}
}

/* `highest` and `middle` are sets of sectors, as bits, in which the channel is that. */
INLINE int select(int sector, int highest, int middle, int high, int odd, int low)
{
	int value = highest >> sector & 1 ? high : low;
	return middle >> sector & 1 ? odd : value;
}

INLINE void rgb_of_hsv(uint8_t (*restrict plane)[CHUNK], size_t pixels)
{
	for (size_t i = 0; i < pixels; i++) {
		int hue = plane[0][i], saturation = plane[1][i], high = plane[2][i];
		int sector = 2 * hue / 85; /* 6 is 0 again */
		float rest = (float)((double)(float)hue * 6.0 / 255.0 - (double)(float)sector);
		float part = (float)((double)(float)saturation / 255.0);
		double v = (double)(float)high;
		int p = (int)(v * (1.0 - (double)part) + 0.5);
		int q = (int)(v * (1.0 - (double)(part * rest)) + 0.5);
		int t = (int)(v * (1.0 - (double)part * (1.0 - (double)rest)) + 0.5);
		int odd = sector & 1 ? q : t; /* the channel between the highest and the lowest */
		plane[0][i] = (uint8_t)select(sector, 0x61, 0x12, high, odd, p);
		plane[1][i] = (uint8_t)select(sector, 0x06, 0x49, high, odd, p);
		plane[2][i] = (uint8_t)select(sector, 0x18, 0x24, high, odd, p);
	}
}

INLINE void hue(uint8_t *restrict out, const uint8_t *restrict row, uint8_t turn, size_t pixels)
{
	uint8_t plane[3][CHUNK];
	for (size_t done = 0; done < pixels; done += CHUNK) {
		size_t count = pixels - done < CHUNK ? pixels - done : CHUNK;
		for (size_t i = 0; i < count; i++)
			for (size_t c = 0; c < 3; c++)
				plane[c][i] = row[3 * (done + i) + c];
		hsv_of_rgb(plane, count);
		for (size_t i = 0; i < count; i++)
			plane[0][i] = (uint8_t)(plane[0][i] + turn);
		rgb_of_hsv(plane, count);
		for (size_t i = 0; i < count; i++)
			for (size_t c = 0; c < 3; c++)
				out[3 * (done + i) + c] = plane[c][i];
	}
}

INLINE void widen(float *restrict out, const uint8_t *restrict row, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		out[i] = (float)row[i];
}

INLINE void weigh(float *restrict out, const float *const *rows, const float *weights,
		  int32_t count, size_t numbers)
{
	for (size_t i = 0; i < numbers; i++)
		out[i] = weights[0] * rows[0][i];
	for (int32_t k = 1; k < count; k++) {
		const float *row = rows[k], weight = weights[k];
		for (size_t i = 0; i < numbers; i++)
			out[i] += weight * row[i];
	}
}

/* For 0 to 255. A sum of 2^23 and more has no fraction bits, so the addition itself rounds. */
INLINE void round_bytes(uint8_t *restrict out, const float *restrict row, size_t bytes)
{
	const float whole = 8388608.0f;
	for (size_t i = 0; i < bytes; i++)
		out[i] = (uint8_t)least((int)(row[i] + whole) - 8388608, 255);
}

/* clang-format off */
#define VERSION(cpu, target)                                                                       \
	target static void gray_##cpu(uint8_t *out, const uint8_t *row, size_t pixels)             \
	{ gray(out, row, pixels); }                                                                \
	target static void blend_##cpu(uint8_t *out, const uint8_t *from, const uint8_t *to,       \
				       float amount, size_t bytes)                                 \
	{ blend(out, from, to, amount, bytes); }                                                   \
	target static void smooth_##cpu(uint8_t *out, const uint8_t *above, const uint8_t *row,    \
					const uint8_t *below, size_t bytes)                        \
	{ smooth(out, above, row, below, bytes); }                                                 \
	target static void hue_##cpu(uint8_t *out, const uint8_t *row, uint8_t turn,               \
				     size_t pixels)                                                \
	{ hue(out, row, turn, pixels); }                                                           \
	target static void widen_##cpu(float *out, const uint8_t *row, size_t bytes)               \
	{ widen(out, row, bytes); }                                                                \
	target static void weigh_##cpu(float *out, const float *const *rows, const float *weights, \
				       int32_t count, size_t numbers)                              \
	{ weigh(out, rows, weights, count, numbers); }                                             \
	target static void round_##cpu(uint8_t *out, const float *row, size_t bytes)               \
	{ round_bytes(out, row, bytes); }                                                          \
	static const struct colour_rows rows_##cpu = {gray_##cpu, blend_##cpu, smooth_##cpu,       \
		hue_##cpu, widen_##cpu, weigh_##cpu, round_##cpu};
/* clang-format on */

VERSION(plain, )
#ifdef __x86_64__
VERSION(avx2, __attribute__((target("avx2"))))
#endif

const struct colour_rows *colour_rows_for(enum cpu cpu)
{
#ifdef __x86_64__
	if (cpu != CPU_PLAIN)
		return &rows_avx2;
#endif
	(void)cpu;
	return &rows_plain;
}
