/* SPDX-License-Identifier: MIT */
#include "client/ctl/show/sheet.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define GAP 4	       /* between images, and around them */
#define SCALE 2u       /* of the glyphs, or 1 where they do not fit */
#define GLYPH_WIDTH 3u /* in pixels of scale 1 */
#define GLYPH_HEIGHT 5u
#define TEXT_HEIGHT (GAP + GLYPH_HEIGHT * SCALE)
#define BYTES_MAX ((uint64_t)1 << 30)

/* The glyphs: three bits for each row, the left pixel first. */
static const struct glyph {
	char letter;
	uint8_t rows[GLYPH_HEIGHT];
} glyphs[] = {
	{'0', {7, 5, 5, 5, 7}}, {'1', {2, 6, 2, 2, 7}}, {'2', {7, 1, 7, 4, 7}},
	{'3', {7, 1, 7, 1, 7}}, {'4', {5, 5, 7, 1, 1}}, {'5', {7, 4, 7, 1, 7}},
	{'6', {7, 4, 7, 5, 7}}, {'7', {7, 1, 1, 2, 2}}, {'8', {7, 5, 7, 5, 7}},
	{'9', {7, 5, 7, 1, 7}}, {'-', {0, 0, 7, 0, 0}}, {'.', {0, 0, 0, 0, 2}},
	{'A', {2, 5, 7, 5, 5}}, {'B', {6, 5, 6, 5, 6}}, {'C', {3, 4, 4, 4, 3}},
	{'D', {6, 5, 5, 5, 6}}, {'E', {7, 4, 6, 4, 7}}, {'F', {7, 4, 6, 4, 4}},
	{'G', {3, 4, 5, 5, 3}}, {'H', {5, 5, 7, 5, 5}}, {'I', {7, 2, 2, 2, 7}},
	{'J', {1, 1, 1, 5, 2}}, {'K', {5, 5, 6, 5, 5}}, {'L', {4, 4, 4, 4, 7}},
	{'M', {5, 7, 7, 5, 5}}, {'N', {6, 5, 5, 5, 5}}, {'O', {2, 5, 5, 5, 2}},
	{'P', {6, 5, 6, 4, 4}}, {'Q', {2, 5, 5, 6, 3}}, {'R', {6, 5, 6, 5, 5}},
	{'S', {3, 4, 2, 1, 6}}, {'T', {7, 2, 2, 2, 2}}, {'U', {5, 5, 5, 5, 7}},
	{'V', {5, 5, 5, 5, 2}}, {'W', {5, 5, 7, 7, 5}}, {'X', {5, 5, 2, 5, 5}},
	{'Y', {5, 5, 2, 2, 2}}, {'Z', {7, 1, 2, 4, 7}}, {'+', {0, 2, 7, 2, 0}},
	{'_', {0, 0, 0, 0, 7}}, {'/', {1, 1, 2, 4, 4}},
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
				 "a sheet of %llu x %llu images of %u x %u needs more than 1 GiB: "
				 "use fewer or smaller ones",
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

static void draw_glyph(struct sheet *sheet, uint64_t x, uint64_t y, const struct glyph *glyph,
		       uint32_t scale)
{
	for (uint32_t i = 0; i < GLYPH_WIDTH * scale; i++) {
		for (uint32_t j = 0; j < GLYPH_HEIGHT * scale; j++) {
			if (glyph->rows[j / scale] >> (GLYPH_WIDTH - 1 - i / scale) & 1)
				memset(sheet_at(sheet, x + i, y + j), 0, sheet->picture.channels);
		}
	}
}

static const struct glyph *find_glyph(char letter)
{
	if (letter >= 'a' && letter <= 'z')
		letter = (char)(letter - 'a' + 'A');
	for (size_t i = 0; i < sizeof(glyphs) / sizeof(glyphs[0]); i++) {
		if (glyphs[i].letter == letter)
			return &glyphs[i];
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
	bool fits = strlen(text) * (GLYPH_WIDTH + 1) * SCALE <= sheet->width + SCALE;
	uint32_t scale = fits ? SCALE : 1;
	for (; *text && x + GLYPH_WIDTH * scale <= end; text++) {
		const struct glyph *glyph = find_glyph(*text);
		if (glyph)
			draw_glyph(sheet, x, y + sheet->height + GAP, glyph, scale);
		x += (GLYPH_WIDTH + 1) * scale;
	}
}
