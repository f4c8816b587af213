// SPDX-License-Identifier: MIT
#include "decode/jpeg/entropy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/jpeg/entropy_kernel.h"

#define ROWS 8		/* of MCUs, decoded together */
#define BLOCK_BYTES 128 /* 64 coefficients, and the alignment that entropy_kernel.h asks for */
#define SHORT_VALUE 7	/* bits of the largest values that are in the table */

/* The table of a code of an earlier picture: many pictures have the same codes. */
struct cached_code {
	struct huffman_code code;
	bool known;
	struct entropy_table table;
};

/* The bits of one row of the box in the scan, in whole groups of MCUs. */
struct slice {
	struct seek_index_entry first;
	uint32_t last_bit, end_bit; /* begin and end of the last group */
	uint64_t end;		    /* end_bit in the unstuffed bytes */
};

struct entropy {
	const struct entropy_kernel *kernel;
	struct cached_code dc[4], ac[4];
	struct entropy_node nodes[SCAN_BLOCKS];

	const struct scan_frame *frame;
	struct seek_index index;
	const uint8_t *scan, *end;
	struct rect box;
	int32_t first; /* the first column that is decoded: a group begins there */

	struct buffer bytes; /* of the rows being decoded, unstuffed */
	uint8_t *memory;     /* coefficients; zero where no row has been decoded */
	size_t memory_bytes;
	size_t row_bytes;
	struct slice slices[ROWS];
	struct entropy_stream streams[ROWS];

	int32_t x, y;	   /* the next MCU */
	int32_t row_first; /* the rows that have been decoded */
	int32_t row_end;
	int16_t *at;			  /* the next MCU's coefficients */
	uint16_t dc_now[SCAN_COMPONENTS]; /* wraps around like libjpeg's 16-bit coefficients */
};

int entropy_new(struct entropy **out, const struct entropy_kernel *kernel)
{
	struct entropy *entropy = aligned_alloc(BLOCK_BYTES, sizeof(*entropy));
	if (!entropy)
		return -ENOMEM;
	memset(entropy, 0, sizeof(*entropy));
	entropy->kernel = kernel;
	*out = entropy;
	return 0;
}

void entropy_free(struct entropy *entropy)
{
	if (!entropy)
		return;
	buffer_deinit(&entropy->bytes);
	free(entropy->memory);
	free(entropy);
}

void entropy_trim(struct entropy *entropy, size_t keep)
{
	buffer_trim(&entropy->bytes, keep);
	if (entropy->memory_bytes <= keep)
		return;
	free(entropy->memory);
	entropy->memory = NULL;
	entropy->memory_bytes = 0;
	entropy->at = NULL;
}

/* --- tables --- */

static void table_fill_escape(struct entropy_table *table, uint32_t code, unsigned length,
			      unsigned size, unsigned run)
{
	uint32_t copies = 1u << (HUFFMAN_QUICK - length);
	for (uint32_t i = 0; i < copies; i++)
		table->step[code * copies + i] = ENTROPY_ESCAPE(length, size) | 2 * (run + 1) << 8;
}

/* The entries of a code: one for each value that fits after it. */
static void table_fill(struct entropy_table *table, uint32_t code, unsigned length, unsigned symbol)
{
	unsigned size = symbol & 15, run = table->dc ? 0 : symbol >> 4;
	if (length + size > HUFFMAN_QUICK || size > SHORT_VALUE) {
		table_fill_escape(table, code, length, size, run);
		return;
	}
	uint32_t entry = length + size;
	if (size == 0 && !table->dc && run != 15)
		entry |= ENTROPY_END << 16;
	else
		entry |= 2 * (run + 1) << 8;
	uint32_t copies = 1u << (HUFFMAN_QUICK - length - size);
	uint32_t *to = table->step + (code << (HUFFMAN_QUICK - length));
	for (uint32_t bits = 0; bits < 1u << size; bits++) {
		int32_t value = size && bits < 1u << (size - 1)
					? (int32_t)bits + 1 - (int32_t)(1u << size)
					: (int32_t)bits;
		for (uint32_t i = 0; i < copies; i++)
			*to++ = entry | (uint32_t)value << 24;
	}
}

static int code_load(struct cached_code *slot, const struct huffman_code *code, bool dc)
{
	if (slot->known && memcmp(&slot->code, code, sizeof(*code)) == 0)
		return 0;
	slot->known = false;
	slot->table.dc = dc;
	if (huffman_init(&slot->table.huffman, code, dc))
		return ENTROPY_E_STALE;
	memset(slot->table.step, 0, sizeof(slot->table.step));
	uint32_t next = 0;
	for (unsigned length = 1, place = 0; length <= HUFFMAN_QUICK; length++, next <<= 1)
		for (unsigned i = 0; i < code->counts[length]; i++)
			table_fill(&slot->table, next++, length, code->symbols[place++]);
	slot->code = *code;
	slot->known = true;
	return 0;
}

static int entropy_load_codes(struct entropy *entropy)
{
	const struct scan_frame *frame = entropy->frame;
	int r = 0;
	for (unsigned i = 0; i < frame->components && r == 0; i++) {
		const struct scan_component *component = &frame->component[i];
		r = code_load(&entropy->dc[component->dc], &frame->dc[component->dc], true);
		if (r == 0)
			r = code_load(&entropy->ac[component->ac], &frame->ac[component->ac],
				      false);
	}
	return r;
}

/* Link the blocks of an MCU into a cycle: after a block's AC comes the next block's DC. */
static void entropy_link(struct entropy *entropy)
{
	const struct scan_frame *frame = entropy->frame;
	for (unsigned i = 0; i < frame->blocks; i++) {
		unsigned next = (i + 1) % frame->blocks;
		const struct scan_component *own = &frame->component[frame->owner[i]];
		const struct scan_component *then = &frame->component[frame->owner[next]];
		entropy->nodes[i].arc[0] =
			(struct entropy_arc){entropy->ac[own->ac].table.step, &entropy->nodes[i]};
		entropy->nodes[i].arc[1] = (struct entropy_arc){entropy->dc[then->dc].table.step,
								&entropy->nodes[next]};
	}
}

/* --- rows --- */

/* Zero the coefficients that were decoded and never read; the rest is zero already. */
static void entropy_clear(struct entropy *entropy)
{
	if (entropy->at) {
		uint8_t *at = (uint8_t *)entropy->at;
		memset(at, 0, (size_t)(entropy->memory + entropy->memory_bytes - at));
	}
	entropy->at = NULL;
}

static int entropy_room(struct entropy *entropy)
{
	size_t columns = (size_t)(entropy->box.x + entropy->box.width - entropy->first);
	entropy->row_bytes = columns * entropy->frame->blocks * BLOCK_BYTES;
	/* One block more at each end: a stream starts before its first block and may overrun. */
	size_t need = entropy->row_bytes * ROWS + 2 * BLOCK_BYTES;
	if (need <= entropy->memory_bytes)
		return 0;
	free(entropy->memory);
	entropy->memory_bytes = 0;
	entropy->memory = aligned_alloc(BLOCK_BYTES, need);
	if (!entropy->memory)
		return -ENOMEM;
	memset(entropy->memory, 0, need);
	entropy->memory_bytes = need;
	return 0;
}

int entropy_begin(struct entropy *entropy, const struct scan_frame *frame,
		  const struct seek_index *index, const uint8_t *data, size_t size, struct rect box)
{
	entropy_clear(entropy);
	entropy->frame = frame;
	entropy->index = *index;
	entropy->scan = data + frame->offset;
	entropy->end = data + size;
	entropy->box = box;
	entropy->first = box.x / SEEK_INDEX_GROUP * SEEK_INDEX_GROUP;
	entropy->x = box.x;
	entropy->y = entropy->row_first = entropy->row_end = box.y;
	if ((uint32_t)(box.y + box.height) > index->rows)
		return ENTROPY_E_STALE;
	int r = entropy_load_codes(entropy);
	if (r == 0)
		r = entropy_room(entropy);
	if (r == 0)
		entropy_link(entropy);
	return r;
}

/* Look up the next rows in the index. Returns how many bytes of the scan they take, or -1 if the
 * entries are not valid. */
static int64_t entropy_look_up(struct entropy *entropy, int32_t rows)
{
	int32_t end = entropy->box.x + entropy->box.width;
	uint32_t first = (uint32_t)entropy->first / SEEK_INDEX_GROUP;
	uint32_t last = ((uint32_t)end - 1) / SEEK_INDEX_GROUP;
	uint64_t limit = (uint64_t)(entropy->end - entropy->scan) * 8;
	int64_t bytes = 0;
	for (int32_t i = 0; i < rows; i++) {
		struct slice *slice = &entropy->slices[i];
		uint32_t row = (uint32_t)(entropy->y + i);
		slice->first = seek_index_at(&entropy->index, row, first);
		slice->last_bit = seek_index_at(&entropy->index, row, last).bit;
		slice->end_bit = seek_index_at(&entropy->index, row, last + 1).bit;
		if (slice->first.bit > slice->last_bit || slice->last_bit >= slice->end_bit ||
		    slice->end_bit > limit)
			return -1;
		bytes += (slice->end_bit + 7) / 8 - slice->first.bit / 8;
	}
	return bytes;
}

/* Append the unstuffed bytes of a row, and set up the stream that reads them. */
static bool entropy_open(struct entropy *entropy, int32_t i, uint8_t **to)
{
	struct slice *slice = &entropy->slices[i];
	const uint8_t *from = entropy->scan + slice->first.bit / 8;
	const uint8_t *end = entropy->scan + (slice->end_bit + 7) / 8;
	uint64_t bit = (uint64_t)(*to - entropy->bytes.data) * 8 + slice->first.bit % 8;
	char *memory = (char *)entropy->memory + BLOCK_BYTES + (size_t)i * entropy->row_bytes;
	if (scan_unstuff(from, end, to) != end)
		return false;
	slice->end = (uint64_t)(*to - entropy->bytes.data) * 8 - (-slice->end_bit & 7);
	entropy->streams[i] = (struct entropy_stream){
		.bit = bit,
		.at = memory - sizeof(int16_t),
		.end = memory - sizeof(int16_t) + entropy->row_bytes,
		.step = entropy->dc[entropy->frame->component[0].dc].table.step,
		.node = &entropy->nodes[0],
		.row = (uint32_t)i,
	};
	return true;
}

/* Check that a stream ended where the index says: at the entry, or within the last group. A stream
 * that read beyond its own bytes ended after the entry. */
static bool entropy_ended_right(const struct entropy *entropy, const struct entropy_stream *stream)
{
	const struct slice *slice = &entropy->slices[stream->row];
	uint32_t end = (uint32_t)(entropy->box.x + entropy->box.width);
	if (stream->bit > slice->end)
		return false;
	if (end % SEEK_INDEX_GROUP == 0 || end == entropy->frame->columns)
		return stream->bit == slice->end;
	return slice->end - stream->bit < slice->end_bit - slice->last_bit;
}

/* Decode the next rows. */
static int entropy_decode(struct entropy *entropy)
{
	int32_t rows = entropy->box.y + entropy->box.height - entropy->y;
	if (rows > ROWS)
		rows = ROWS;
	int64_t bytes = entropy_look_up(entropy, rows);
	if (bytes < 0)
		return ENTROPY_E_STALE;
	/* In damaged data a stream reads beyond its bytes, at most so far. */
	size_t slack = entropy->row_bytes / BLOCK_BYTES * ENTROPY_BLOCK_BITS / 8 + BUFFER_SLACK;
	if (buffer_reserve(&entropy->bytes, (size_t)bytes + slack))
		return -ENOMEM;
	uint8_t *to = entropy->bytes.data;
	for (int32_t i = 0; i < rows; i++)
		if (!entropy_open(entropy, i, &to))
			return ENTROPY_E_STALE;
	entropy->at = (int16_t *)(void *)(entropy->memory + BLOCK_BYTES);
	entropy->row_first = entropy->y;
	entropy->row_end = entropy->y + rows;
	entropy->kernel->decode(entropy->bytes.data, entropy->streams, (unsigned)rows);
	for (int32_t i = 0; i < rows; i++)
		if (!entropy_ended_right(entropy, &entropy->streams[i]))
			return ENTROPY_E_STALE;
	return 0;
}

/* --- MCUs --- */

/* Turn the DC differences of the next `blocks` blocks into DC values. */
static void entropy_sum(struct entropy *entropy, unsigned blocks)
{
	const uint8_t *owner = entropy->frame->owner;
	for (unsigned i = 0; i < blocks; i++) {
		int16_t *dc = entropy->at + (size_t)i * 64;
		uint16_t sum = (uint16_t)(entropy->dc_now[owner[i]] + (uint16_t)*dc);
		entropy->dc_now[owner[i]] = sum;
		*dc = (int16_t)sum;
	}
}

/* Skip an MCU. */
static void entropy_skip_mcu(struct entropy *entropy)
{
	unsigned blocks = entropy->frame->blocks;
	entropy_sum(entropy, blocks);
	memset(entropy->at, 0, (size_t)blocks * BLOCK_BYTES);
	entropy->at += (size_t)blocks * 64;
}

static int entropy_begin_row(struct entropy *entropy)
{
	if (entropy->y == entropy->row_end) {
		int r = entropy_decode(entropy);
		if (r)
			return r;
	}
	const struct slice *slice = &entropy->slices[entropy->y - entropy->row_first];
	for (unsigned i = 0; i < SCAN_COMPONENTS; i++)
		entropy->dc_now[i] = (uint16_t)slice->first.dc[i];
	for (int32_t x = entropy->first; x < entropy->box.x; x++)
		entropy_skip_mcu(entropy);
	return 0;
}

int entropy_next(struct entropy *entropy, int16_t *const *blocks)
{
	if (entropy->x == entropy->box.x) {
		int r = entropy_begin_row(entropy);
		if (r)
			return r;
	}
	if (blocks) {
		unsigned count = entropy->frame->blocks;
		entropy_sum(entropy, count);
		entropy->kernel->reorder(entropy->at, blocks, count);
		entropy->at += (size_t)count * 64;
	} else {
		entropy_skip_mcu(entropy);
	}
	if (++entropy->x == entropy->box.x + entropy->box.width) {
		entropy->x = entropy->box.x;
		entropy->y++;
	}
	return 0;
}
