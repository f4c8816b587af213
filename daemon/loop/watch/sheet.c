// SPDX-License-Identifier: MIT
#include "loop/watch/sheet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/state/core.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "transform/pipeline.h"

#define COLUMNS 6
#define ROWS (SHEET_PICTURES / COLUMNS)
#define GAP 2
#define LOOKED_AT 65536 /* slots of a ring; it may have a thousand times as many */
#define COLOURS 3
#define BMP_HEAD 54

/* The samples of a ring that are shown, the newest last. */
struct chosen {
	struct ring *ring;
	uint64_t ordinals[SHEET_PICTURES];
	unsigned count;
};

/* Layout of the array of a sample, and the size at which it is shown. */
struct grid {
	enum { BYTES, WORDS, HALVES, BRAINS, SINGLES } type; /* BRAINS: bfloat16 */
	uint32_t height, width, channels;		     /* of the array */
	size_t channel;					     /* numbers from one to the next */
	uint32_t rows, columns;				     /* shown */
	size_t row_at[SHEET_EDGE], column_at[SHEET_EDGE];
	float least[COLOURS], factor[COLOURS]; /* from numbers to bytes */
};

/* Find the newest slots that are ready, or may be soon: of a long ring those around its readers. */
static unsigned find_ready(struct ring *ring, uint64_t found[SHEET_PICTURES])
{
	uint64_t end = ring->base + ring->slots, floor = ring_floor(ring);
	unsigned count = 0;
	bool is_long = ring->slots > LOOKED_AT && ring_holds(ring, floor);
	if (is_long && end - floor > LOOKED_AT / 2)
		end = floor + LOOKED_AT / 2;
	uint64_t begin = end - ring->base > LOOKED_AT ? end - LOOKED_AT : ring->base;
	while (end-- > begin && count < SHEET_PICTURES)
		if (ring_slot(ring, end)->state == SLOT_READY)
			found[count++] = end;
	return count;
}

static bool choose(struct chosen *chosen, const struct stream *stream)
{
	list_for_each(ring, next, &stream->rings, struct ring, link) {
		uint64_t found[SHEET_PICTURES];
		if (!ring->made || ring->abandoned)
			continue;
		unsigned count = find_ready(ring, found);
		if (count == 0)
			continue;
		*chosen = (struct chosen){.ring = ring, .count = count};
		for (unsigned i = 0; i < count; i++)
			chosen->ordinals[i] = found[count - 1 - i];
		return true;
	}
	return false;
}

static void grid_init(struct grid *grid, const struct stream *stream)
{
	const struct pipeline_output output = pipeline_output(stream->pipeline);
	const bool last = strstr(pipeline_text(stream->pipeline), "|NHWC");
	const uint32_t *shape = output.shape;
	*grid = (struct grid){
		.type = strcmp(output.dtype, "uint8") == 0	? BYTES
			: strcmp(output.dtype, "uint16") == 0	? WORDS
			: strcmp(output.dtype, "float16") == 0	? HALVES
			: strcmp(output.dtype, "bfloat16") == 0 ? BRAINS
								: SINGLES,
		.channels = shape[last ? 2 : 0],
		.height = shape[last ? 0 : 1],
		.width = shape[last ? 1 : 2],
	};
	size_t plane = (size_t)grid->height * grid->width;
	grid->channel = last ? 1 : plane;
	uint32_t edge = grid->height > grid->width ? grid->height : grid->width;
	uint32_t most = edge < SHEET_EDGE ? edge : SHEET_EDGE;
	grid->rows = (uint32_t)((uint64_t)grid->height * most / edge);
	grid->columns = (uint32_t)((uint64_t)grid->width * most / edge);
	grid->rows += grid->rows == 0;
	grid->columns += grid->columns == 0;
	size_t column = last ? grid->channels : 1, row = column * grid->width;
	for (size_t y = 0; y < grid->rows; y++) /* of what a place stands for, the middle */
		grid->row_at[y] = (2 * y + 1) * grid->height / (2 * (size_t)grid->rows) * row;
	for (size_t x = 0; x < grid->columns; x++)
		grid->column_at[x] =
			(2 * x + 1) * grid->width / (2 * (size_t)grid->columns) * column;
}

static float float_of_bits(uint32_t bits)
{
	float number;
	memcpy(&number, &bits, sizeof(number));
	return number;
}

/* The exponent is moved by a product, which gets subnormal numbers right, too. */
static float float_of_half(uint16_t bits)
{
	float number = float_of_bits((uint32_t)(bits & 0x7fff) << 13) * 0x1p112f;
	return bits & 0x8000 ? -number : number;
}

/* The numbers of a colour in a row of the grid. */
static void read_row(const struct grid *grid, const void *array, uint32_t y, uint32_t colour,
		     float out[SHEET_EDGE])
{
	const size_t *at = grid->column_at;
	size_t first = grid->row_at[y] + (grid->channels < COLOURS ? 0 : colour * grid->channel);
	const uint8_t *bytes = (const uint8_t *)array + first;
	const uint16_t *halves = (const uint16_t *)array + first;
	const float *singles = (const float *)array + first;
	switch (grid->type) {
	case BYTES:
		for (uint32_t x = 0; x < grid->columns; x++)
			out[x] = bytes[at[x]];
		break;
	case WORDS:
		for (uint32_t x = 0; x < grid->columns; x++)
			out[x] = halves[at[x]];
		break;
	case HALVES:
		for (uint32_t x = 0; x < grid->columns; x++)
			out[x] = float_of_half(halves[at[x]]);
		break;
	case BRAINS:
		for (uint32_t x = 0; x < grid->columns; x++)
			out[x] = float_of_bits((uint32_t)halves[at[x]] << 16);
		break;
	case SINGLES:
		for (uint32_t x = 0; x < grid->columns; x++)
			out[x] = singles[at[x]];
	}
}

static const void *array_of(const struct chosen *chosen, unsigned i)
{
	const struct ring *ring = chosen->ring;
	return segment_at(&ring->segment, FIELD_IMAGE, ring_slot_number(ring, chosen->ordinals[i]));
}

/* The least and the greatest number of a colour, in some rows of all that is shown. */
static void colour_range(const struct grid *grid, const struct chosen *chosen, uint32_t colour,
			 float range[2])
{
	float row[SHEET_EDGE];
	read_row(grid, array_of(chosen, 0), 0, colour, row);
	range[0] = range[1] = row[0];
	for (unsigned i = 0; i < chosen->count; i++)
		for (uint32_t y = 0; y < grid->rows; y += 4) {
			read_row(grid, array_of(chosen, i), y, colour, row);
			for (uint32_t x = 0; x < grid->columns; x++) {
				range[0] = row[x] < range[0] ? row[x] : range[0];
				range[1] = row[x] > range[1] ? row[x] : range[1];
			}
		}
}

/* Undo Normalize, by its canonical text. False: there is none for three colours. */
static bool undo_normalize(struct grid *grid, const char *text)
{
	float mean[COLOURS], deviation[COLOURS];
	const char *at = strstr(text, "Normalize(mean=(");
	if (!at || sscanf(at, "Normalize(mean=(%f, %f, %f), std=(%f, %f, %f)", &mean[0], &mean[1],
			  &mean[2], &deviation[0], &deviation[1], &deviation[2]) != 2 * COLOURS)
		return false;
	for (uint32_t c = 0; c < COLOURS; c++) {
		grid->least[c] = -mean[c] / deviation[c];
		grid->factor[c] = deviation[c] * 255;
	}
	return true;
}

/* Bytes stay as they are, and so do floats of their range; floats from 0 to 1 are parts of 255. Of
 * others, as from ImageDataGenerator, each colour is stretched over what is shown. */
static void grid_scale(struct grid *grid, const struct chosen *chosen)
{
	float ranges[COLOURS][2], least = 0, most = 0;
	for (uint32_t c = 0; c < COLOURS; c++) {
		grid->factor[c] = 1;
		if (grid->type == BYTES)
			continue;
		colour_range(grid, chosen, c, ranges[c]);
		least = ranges[c][0] < least ? ranges[c][0] : least;
		most = ranges[c][1] > most ? ranges[c][1] : most;
	}
	for (uint32_t c = 0; c < COLOURS && grid->type != BYTES; c++) {
		float span = ranges[c][1] - ranges[c][0];
		bool plain = least > -0.01f && most < 255.5f;
		grid->least[c] = plain ? 0 : ranges[c][0];
		grid->factor[c] = plain ? (most > 1.01f ? 1 : 255) : span > 0 ? 255 / span : 0;
	}
}

static uint8_t byte_of(const struct grid *grid, uint32_t colour, float number)
{
	float byte = (number - grid->least[colour]) * grid->factor[colour] + 0.5f;
	/* Written so that NaN becomes black. */
	return byte > 0 ? (byte < 255 ? (uint8_t)byte : 255) : 0;
}

/* Rows stand upside down in a BMP, and blue comes first. */
static void draw(const struct grid *grid, const void *array, uint8_t *pixels, size_t line,
		 uint32_t lines, uint32_t top, uint32_t left)
{
	float row[SHEET_EDGE];
	for (uint32_t y = 0; y < grid->rows; y++) {
		uint8_t *out = pixels + (lines - 1 - (top + y)) * line + left * (size_t)COLOURS;
		for (uint32_t c = 0; c < COLOURS; c++) {
			read_row(grid, array, y, c, row);
			for (uint32_t x = 0; x < grid->columns; x++)
				out[x * COLOURS + COLOURS - 1 - c] = byte_of(grid, c, row[x]);
		}
	}
}

static void put32(uint8_t *out, uint32_t number)
{
	for (int i = 0; i < 4; i++)
		out[i] = (uint8_t)(number >> (8 * i));
}

static void bmp_head(uint8_t head[BMP_HEAD], uint32_t width, uint32_t height, size_t bytes)
{
	memset(head, 0, BMP_HEAD);
	memcpy(head, "BM", 2);
	put32(head + 2, (uint32_t)(BMP_HEAD + bytes));
	put32(head + 10, BMP_HEAD);
	put32(head + 14, 40); /* what follows */
	put32(head + 18, width);
	put32(head + 22, height);
	head[26] = 1; /* plane */
	head[28] = 8 * COLOURS;
	put32(head + 34, (uint32_t)bytes);
}

static void sheet_draw(struct writer *writer, const struct grid *grid, const struct chosen *chosen)
{
	uint32_t columns = chosen->count < COLUMNS ? chosen->count : COLUMNS;
	uint32_t rows = (chosen->count + COLUMNS - 1) / COLUMNS;
	uint32_t width = columns * (grid->columns + GAP) - GAP;
	uint32_t height = rows * (grid->rows + GAP) - GAP;
	size_t line = ((size_t)width * COLOURS + 3) / 4 * 4, bytes = line * height;
	uint8_t *pixels = malloc(BMP_HEAD + bytes);
	if (!pixels) {
		writer->failed = true;
		return;
	}
	memset(pixels, 0xff, BMP_HEAD + bytes);
	bmp_head(pixels, width, height, bytes);
	for (unsigned i = 0; i < chosen->count; i++)
		draw(grid, array_of(chosen, i), pixels + BMP_HEAD, line, height,
		     i / COLUMNS * (grid->rows + GAP), i % COLUMNS * (grid->columns + GAP));
	writer_add_bytes(writer, pixels, BMP_HEAD + bytes);
	free(pixels);
}

static const struct stream *find_stream(const struct core *core, uint64_t id)
{
	list_for_each(stream, next, &core->streams, struct stream, link)
		if (stream->id == id)
			return stream;
	return NULL;
}

int sheet_write(struct writer *writer, const struct core *core, uint64_t id, struct writer *caption)
{
	const struct stream *stream = find_stream(core, id);
	struct chosen chosen;
	struct grid grid;
	if (!stream)
		return SHEET_E_STREAM;
	if (!choose(&chosen, stream))
		return SHEET_E_EMPTY;
	grid_init(&grid, stream);
	if (!undo_normalize(&grid, pipeline_text(stream->pipeline)))
		grid_scale(&grid, &chosen);
	sheet_draw(writer, &grid, &chosen);
	uint64_t stride = chosen.ring->stride;
	uint64_t first = chosen.ordinals[0], last = chosen.ordinals[chosen.count - 1];
	writer_add(caption,
		   "epoch %" PRIu64 ", position %" PRIu64 ", to epoch %" PRIu64
		   ", position %" PRIu64,
		   first / stride, first % stride, last / stride, last % stride);
	return 0;
}
