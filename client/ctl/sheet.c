/* SPDX-License-Identifier: MIT */
#include "client/ctl/sheet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GAP 4		/* between pictures, and around them */
#define SCALE 2u	/* of the figures */
#define FIGURE_WIDTH 3u /* in their own pixels */
#define FIGURE_HEIGHT 5u
#define TEXT_HEIGHT (GAP + FIGURE_HEIGHT * SCALE)
#define BYTES_MAX ((uint64_t)1 << 30)

/* Three bits a row, the left one first. */
static const struct figure {
	char letter;
	uint8_t rows[FIGURE_HEIGHT];
} figures[] = {
	{'0', {7, 5, 5, 5, 7}}, {'1', {2, 6, 2, 2, 7}}, {'2', {7, 1, 7, 4, 7}},
	{'3', {7, 1, 7, 1, 7}}, {'4', {5, 5, 7, 1, 1}}, {'5', {7, 4, 7, 1, 7}},
	{'6', {7, 4, 7, 5, 7}}, {'7', {7, 1, 1, 2, 2}}, {'8', {7, 5, 7, 5, 7}},
	{'9', {7, 5, 7, 1, 7}}, {'-', {0, 0, 7, 0, 0}}, {'.', {0, 0, 0, 0, 2}},
	{'e', {0, 7, 5, 6, 7}}, {'+', {0, 2, 7, 2, 0}},
};

int sheet_init(struct sheet *out, uint64_t rows, uint64_t columns, uint32_t width, uint32_t height,
	       uint32_t channels, struct fault *fault)
{
	uint64_t cell_width = (uint64_t)width + GAP,
		 cell_height = (uint64_t)height + GAP + TEXT_HEIGHT;
	uint64_t bytes, line;
	if (__builtin_mul_overflow(columns * channels, cell_width, &line) ||
	    __builtin_mul_overflow(rows * cell_height + GAP, line + GAP * channels, &bytes) ||
	    bytes > BYTES_MAX)
		return fault_say(fault, -EINVAL,
				 "%llu x %llu pictures of %u x %u are no sheet that fits into a "
				 "gigabyte: take fewer, or smaller ones",
				 (unsigned long long)rows, (unsigned long long)columns, width,
				 height);
	struct sheet sheet = {
		.picture = {(uint32_t)(columns * cell_width + GAP),
			    (uint32_t)(rows * cell_height + GAP), channels, NULL},
		.pixels = malloc(bytes),
		.width = width,
		.height = height,
		.cell_width = (uint32_t)cell_width,
		.cell_height = (uint32_t)cell_height,
	};
	if (!sheet.pixels)
		return fault_say(fault, -ENOMEM, "out of memory");
	memset(sheet.pixels, 0xff, bytes);
	sheet.picture.pixels = sheet.pixels;
	*out = sheet;
	return 0;
}

void sheet_deinit(struct sheet *sheet)
{
	free(sheet->pixels);
	*sheet = (struct sheet){0};
}

static uint8_t *sheet_at(const struct sheet *sheet, uint64_t x, uint64_t y)
{
	return sheet->pixels + (y * sheet->picture.width + x) * sheet->picture.channels;
}

static void draw_figure(struct sheet *sheet, uint64_t x, uint64_t y, const struct figure *figure)
{
	for (uint32_t i = 0; i < FIGURE_WIDTH * SCALE; i++) {
		for (uint32_t j = 0; j < FIGURE_HEIGHT * SCALE; j++) {
			if (figure->rows[j / SCALE] >> (FIGURE_WIDTH - 1 - i / SCALE) & 1)
				memset(sheet_at(sheet, x + i, y + j), 0, sheet->picture.channels);
		}
	}
}

static const struct figure *find_figure(char letter)
{
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		if (figures[i].letter == letter)
			return &figures[i];
	}
	return NULL;
}

void sheet_put(struct sheet *sheet, uint64_t row, uint64_t column, const uint8_t *pixels,
	       const char *text)
{
	uint64_t x = GAP + column * sheet->cell_width, y = GAP + row * sheet->cell_height;
	size_t line = (size_t)sheet->width * sheet->picture.channels;
	for (uint32_t i = 0; i < sheet->height; i++)
		memcpy(sheet_at(sheet, x, y + i), pixels + i * line, line);
	uint64_t end = x + sheet->width;
	for (; *text && x + FIGURE_WIDTH * SCALE <= end; text++) {
		const struct figure *figure = find_figure(*text);
		if (figure)
			draw_figure(sheet, x, y + sheet->height + GAP, figure);
		x += (FIGURE_WIDTH + 1) * SCALE;
	}
}
