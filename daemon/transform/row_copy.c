// SPDX-License-Identifier: MIT
#include "transform/row_copy.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* Continue the run with pixel x of the map, if that goes on. A run of one pixel may go either way.
 */
static bool run_takes(struct run *run, const struct axis_map *map, int32_t x)
{
	int32_t step = map->at[x] - map->at[x - 1];
	if (map->fill[x] != run->fill)
		return false;
	if (run->fill)
		return true;
	if (run->count == 1 && (step == 1 || step == -1))
		run->direction = (int8_t)step;
	return step == run->direction;
}

int row_copy_begin(struct row_copy *copy, const struct axis_map *map)
{
	struct run *run = NULL;
	int r = buffer_reserve(&copy->memory, (size_t)map->count * sizeof(*copy->runs));
	if (r < 0)
		return r;
	copy->runs = (struct run *)(void *)copy->memory.data;
	copy->count = 0;
	for (int32_t x = 0; x < map->count; x++) {
		if (run && run_takes(run, map, x)) {
			run->count++;
			continue;
		}
		run = &copy->runs[copy->count++];
		*run = (struct run){x, 1, map->at[x], 1, map->fill[x]};
	}
	return 0;
}

static void row_paint(uint8_t *to, const uint8_t colour[3], int32_t count)
{
	if (colour[0] == colour[1] && colour[1] == colour[2]) {
		memset(to, colour[0], 3 * (size_t)count);
		return;
	}
	for (int32_t i = 0; i < count; i++)
		memcpy(to + 3 * (size_t)i, colour, 3);
}

/* The `count` pixels up to the one at `last`, in reverse order. */
static void row_reverse(uint8_t *to, const uint8_t *last, int32_t count)
{
	for (int32_t i = 0; i < count; i++)
		memcpy(to + 3 * (size_t)i, last - 3 * (ptrdiff_t)i, 3);
}

#if defined(__x86_64__)
/* Five pixels at a time; the 16th byte is overwritten by the next pixel, or is slack. */
__attribute__((target("avx2"))) static void row_reverse_avx2(uint8_t *to, const uint8_t *last,
							     int32_t count)
{
	const __m128i order = _mm_setr_epi8(12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2, -1);
	int32_t i = 0;
	for (; i + 5 <= count; i += 5, to += 15, last -= 15) {
		__m128i five = _mm_loadu_si128((const __m128i *)(const void *)(last - 12));
		_mm_storeu_si128((__m128i *)(void *)to, _mm_shuffle_epi8(five, order));
	}
	row_reverse(to, last, count - i);
}
#elif defined(__aarch64__)
static void row_reverse_neon(uint8_t *to, const uint8_t *last, int32_t count)
{
	static const uint8_t places[16] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
	const uint8x16_t order = vld1q_u8(places);
	int32_t i = 0;
	for (; i + 16 <= count; i += 16, to += 48, last -= 48) {
		uint8x16x3_t pixels = vld3q_u8(last - 45);
		for (int c = 0; c < 3; c++)
			pixels.val[c] = vqtbl1q_u8(pixels.val[c], order);
		vst3q_u8(to, pixels);
	}
	row_reverse(to, last, count - i);
}
#endif

void row_copy_run(const struct row_copy *copy, enum cpu cpu, const uint8_t *source, int32_t left,
		  uint8_t row_fill, const struct step *steps, uint8_t *to)
{
	for (const struct run *run = copy->runs; run < copy->runs + copy->count; run++) {
		const uint8_t *from = source + 3 * (ptrdiff_t)(run->from - left);
		uint8_t fill = run->fill > row_fill ? run->fill : row_fill;
		uint8_t *begin = to + 3 * (size_t)run->x;
		if (fill)
			row_paint(begin, steps[fill - 1].fill, run->count);
		else if (run->count == 1)
			memcpy(begin, from, 3);
		else if (run->direction == 1)
			memcpy(begin, from, 3 * (size_t)run->count);
#if defined(__x86_64__)
		else if (cpu >= CPU_AVX2)
			row_reverse_avx2(begin, from, run->count);
#elif defined(__aarch64__)
		else if (cpu >= CPU_NEON)
			row_reverse_neon(begin, from, run->count);
#endif
		else
			row_reverse(begin, from, run->count);
	}
	(void)cpu;
}

void row_copy_deinit(struct row_copy *copy)
{
	buffer_deinit(&copy->memory);
	*copy = ROW_COPY_NULL;
}
