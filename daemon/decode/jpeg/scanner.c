// SPDX-License-Identifier: MIT
/*
 * A long stretch of the scan is skimmed by three runs at once (struct skim_run): the second and
 * third begin at a guessed bit, and count from where the run before them meets them. How many bits
 * the wanted rows take is estimated; if it was too few, another stretch follows.
 */
#include "decode/jpeg/scanner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/jpeg/entropy_kernel.h"

#define MARKS 8192	/* the most of a run */
#define SPLIT_BITS 8192 /* a longer stretch is worth three runs */

/* The tables of a code of an earlier file: many files have the same codes. */
struct cached_code {
	struct huffman_code code;
	bool known;
	struct huffman huffman;
	uint16_t jump[2 << SKIM_BITS]; /* of AC; the second half is the table, see jump_fill() */
};

struct scanner {
	const struct entropy_kernel *kernel;
	struct cached_code dc[4], ac[4];
	struct buffer bytes;		 /* of the scan, unstuffed, from `start` on */
	struct buffer stuffed;		 /* u32: positions in `bytes` after which a 0 was removed */
	struct buffer marks[SKIM_RUNS];	 /* struct skim_mark */
	const uint8_t *start, *at, *end; /* at: the next byte to unstuff */
	bool loaded;			 /* the whole scan is in `bytes` */
	bool whole;			 /* ... and an end marker follows it */
};

int scanner_new(struct scanner **out, const struct entropy_kernel *kernel)
{
	struct scanner *scanner = calloc(1, sizeof(*scanner));
	if (!scanner)
		return -ENOMEM;
	scanner->kernel = kernel;
	*out = scanner;
	return 0;
}

void scanner_free(struct scanner *scanner)
{
	if (!scanner)
		return;
	buffer_deinit(&scanner->bytes);
	buffer_deinit(&scanner->stuffed);
	for (unsigned i = 0; i < SKIM_RUNS; i++)
		buffer_deinit(&scanner->marks[i]);
	free(scanner);
}

/*
 * jump[1 << width ...] is the table for so many bits: the entry skips the first symbol, and what
 * the table of the remaining bits skips, unless that is too much for one step. Of SKIM_BITS the
 * second half of the array is the table; the narrower ones before it are used to build it.
 */
static uint16_t *jump_symbol(uint16_t *jump, uint16_t *to, unsigned width, unsigned length,
			     uint8_t symbol)
{
	unsigned bits = length + (symbol & 15);
	size_t count = (size_t)1 << (width - length), done = 1;
	uint16_t first = (uint16_t)(bits | ((symbol >> 4) + 1u) << 8);
	if (bits > SKIM_STEP_BITS_MAX) {
		*to = SKIM_MISS << 8;
	} else if ((symbol & 15) == 0 && symbol != 0xF0) {
		*to = (uint16_t)(bits | SKIM_END << 8);
	} else if (bits > width) {
		*to = first;
	} else {
		done = (size_t)1 << (width - bits);
		for (size_t i = 0; i < done; i++) {
			uint16_t both = (uint16_t)(jump[done + i] + first);
			bool fits = !(both & SKIM_MISS << 8) && (both & 63) <= SKIM_STEP_BITS_MAX;
			to[i] = fits ? both : first;
		}
	}
	for (; done < count; done *= 2)
		memcpy(to + done, to, done * sizeof(*to));
	return to + count;
}

static void jump_fill(uint16_t *jump, const struct huffman_code *code)
{
	for (unsigned width = 0; width <= SKIM_BITS; width++) {
		uint16_t *to = jump + ((size_t)1 << width), *end = to + ((size_t)1 << width);
		for (unsigned length = 1, place = 0; length <= width; length++)
			for (unsigned i = 0; i < code->counts[length]; i++)
				to = jump_symbol(jump, to, width, length, code->symbols[place++]);
		while (to < end)
			*to++ = SKIM_MISS << 8;
	}
}

static int code_load(struct cached_code *slot, const struct huffman_code *code, bool dc)
{
	if (slot->known && memcmp(&slot->code, code, sizeof(*code)) == 0)
		return 0;
	slot->known = false;
	if (huffman_init(&slot->huffman, code, dc))
		return SEEK_INDEX_E_ODD;
	slot->code = *code;
	if (!dc)
		jump_fill(slot->jump, code);
	slot->known = true;
	return 0;
}

static int scanner_load_codes(struct scanner *scanner, const struct scan_frame *frame)
{
	int r = 0;
	for (unsigned i = 0; i < frame->components && r == 0; i++) {
		const struct scan_component *component = &frame->component[i];
		r = code_load(&scanner->dc[component->dc], &frame->dc[component->dc], true);
		if (r == 0)
			r = code_load(&scanner->ac[component->ac], &frame->ac[component->ac],
				      false);
	}
	return r;
}

/* --- the bytes --- */

static int scanner_start(struct scanner *scanner, const uint8_t *start, const uint8_t *end)
{
	size_t size = (size_t)(end - start);
	if (buffer_reserve(&scanner->bytes, size + SKIM_SLACK) ||
	    buffer_reserve(&scanner->stuffed, size * 2 + 8))
		return -ENOMEM;
	scanner->start = scanner->at = start;
	scanner->end = end;
	scanner->loaded = scanner->whole = false;
	scanner->bytes.size = scanner->stuffed.size = 0;
	return 0;
}

/* Unstuff until there are `size` bytes, or all. */
static void scanner_load(struct scanner *scanner, uint64_t size)
{
	uint8_t *to = scanner->bytes.data + scanner->bytes.size;
	const uint8_t *from = scanner->at;
	while (!scanner->loaded && (size_t)(to - scanner->bytes.data) < size) {
		size_t left = (size_t)(scanner->end - from);
		uint64_t wanted = size - (size_t)(to - scanner->bytes.data);
		size_t most = wanted < left ? (size_t)wanted : left;
		const uint8_t *stuff = memchr(from, 0xFF, most);
		size_t run = stuff ? (size_t)(stuff - from) : most;
		memcpy(to, from, run);
		to += run;
		from += run;
		if (!stuff) {
			scanner->loaded = run == left;
		} else if (left - run < 2 || stuff[1] != 0) {
			scanner->loaded = true;
			scanner->whole = left - run >= 2 && stuff[1] == 0xD9;
		} else {
			uint32_t place = (uint32_t)(to - scanner->bytes.data);
			memcpy(scanner->stuffed.data + scanner->stuffed.size, &place,
			       sizeof(place));
			scanner->stuffed.size += sizeof(place);
			*to++ = 0xFF;
			from += 2;
		}
	}
	scanner->at = from;
	scanner->bytes.size = (size_t)(to - scanner->bytes.data);
	memset(to, 0, SKIM_SLACK);
}

static struct skim scanner_skim(const struct scanner *scanner, const struct scan_frame *frame)
{
	struct skim skim = {.bytes = scanner->bytes.data, .blocks = frame->blocks};
	for (unsigned i = 0; i < frame->blocks; i++) {
		const struct scan_component *component = &frame->component[frame->owner[i]];
		skim.block[i] = (struct skim_block){
			&scanner->dc[component->dc].huffman, &scanner->ac[component->ac].huffman,
			scanner->ac[component->ac].jump + (1 << SKIM_BITS), frame->owner[i]};
	}
	return skim;
}

/* --- the pass over the scan --- */

/* The position in the scan, and the index that is written. */
struct pass {
	struct scanner *scanner;
	const struct scan_frame *frame;
	struct skim skim;
	struct seek_index view;
	uint8_t *index;
	uint32_t base;	  /* bytes of the scan before scanner->start */
	uint64_t bit;	  /* in the unstuffed bytes */
	uint32_t removed; /* zero bytes removed before it */
	int32_t dc[SCAN_COMPONENTS];
	uint32_t row, column;
};

static void pass_init(struct pass *pass, struct scanner *scanner, const struct scan_frame *frame,
		      uint8_t *index, const struct seek_index *view)
{
	struct seek_index_entry entry = seek_index_at(view, view->rows, 0);
	*pass = (struct pass){
		.scanner = scanner,
		.frame = frame,
		.skim = scanner_skim(scanner, frame),
		.view = *view,
		.index = index,
		.base = entry.bit / 8,
		.bit = entry.bit % 8,
		.row = view->rows,
	};
	for (unsigned i = 0; i < SCAN_COMPONENTS; i++)
		pass->dc[i] = entry.dc[i];
}

/* Write the index entry of the current position. */
static int pass_write_entry(struct pass *pass)
{
	const struct buffer *stuffed = &pass->scanner->stuffed;
	uint32_t byte = (uint32_t)(pass->bit >> 3), place;
	for (; pass->removed < stuffed->size / sizeof(place); pass->removed++) {
		memcpy(&place, stuffed->data + pass->removed * sizeof(place), sizeof(place));
		if (place >= byte)
			break;
	}
	struct seek_index_entry entry = {.bit = (pass->base + byte + pass->removed) * 8 +
						(uint32_t)(pass->bit & 7)};
	for (unsigned i = 0; i < pass->frame->components; i++) {
		entry.dc[i] = (int16_t)pass->dc[i];
		if (entry.dc[i] != pass->dc[i])
			return SEEK_INDEX_E_DAMAGED;
	}
	seek_index_write(pass->index, &pass->view, pass->row,
			 (pass->column + SEEK_INDEX_GROUP - 1) / SEEK_INDEX_GROUP, &entry);
	return 0;
}

static int pass_add_mcu(struct pass *pass, const struct skim_mark *mark)
{
	int r = 0;
	pass->bit = mark->bit;
	for (unsigned i = 0; i < SCAN_COMPONENTS; i++)
		pass->dc[i] += mark->dc[i];
	pass->column++;
	if (pass->column % SEEK_INDEX_GROUP == 0 || pass->column == pass->frame->columns)
		r = pass_write_entry(pass);
	if (r == 0 && pass->column == pass->frame->columns) {
		pass->column = 0;
		pass->row++;
	}
	return r;
}

/* MCUs from here to the end of the row before `row`. */
static uint64_t pass_left(const struct pass *pass, uint32_t row)
{
	return (uint64_t)(row - pass->row) * pass->frame->columns - pass->column;
}

/* An estimate of their bits, slightly too large: their share of the rest of the scan. */
static uint64_t pass_distance(const struct pass *pass, uint32_t row)
{
	const struct scanner *scanner = pass->scanner;
	uint64_t bits = (scanner->bytes.size + (uint64_t)(scanner->end - scanner->at)) * 8;
	uint64_t rest = pass_left(pass, pass->frame->rows), left = pass_left(pass, row);
	uint64_t most = (uint64_t)MARKS * SKIM_RUNS / 2;
	bits = bits > pass->bit ? bits - pass->bit : 0;
	return row == pass->frame->rows && left <= most
		       ? bits
		       : bits * (left < most ? left : most) / rest * 17 / 16;
}

/* Set up the runs of a stretch, and return how many. */
static unsigned pass_split(const struct pass *pass, uint64_t distance, uint64_t left,
			   struct skim_run *runs)
{
	unsigned count = distance < SPLIT_BITS ? 1 : SKIM_RUNS;
	for (unsigned i = 0; i < count; i++) {
		bool last = i + 1 == count;
		runs[i] = (struct skim_run){
			.bit = pass->bit + distance * i / count,
			.stop = last && count == 1 ? UINT64_MAX
						   : pass->bit + distance * (i + 1) / count,
			.marks = (struct skim_mark *)(void *)pass->scanner->marks[i].data,
			.room = left < MARKS ? (uint32_t)left : MARKS,
			.guess = i > 0,
			.next = last ? NULL : &runs[i + 1],
		};
	}
	return count;
}

/* Take the MCUs that the runs have found, from one run to the next; `last_out` is the last run
 * used. */
static int pass_join(struct pass *pass, uint32_t rows, struct skim_run *runs,
		     const struct skim_run **last_out)
{
	const struct skim_run *run = runs;
	int r = 0;
	for (uint32_t i = 0; r == 0 && pass->row < rows; i++) {
		if (i == run->count && !run->joined)
			break;
		if (i == run->count) {
			i = run->met + 1;
			run = run->next;
			if (i == run->count)
				break;
		}
		r = pass_add_mcu(pass, &run->marks[i]);
	}
	*last_out = run;
	return r;
}

static int pass_advance(struct pass *pass, uint32_t rows)
{
	struct scanner *scanner = pass->scanner;
	struct skim_run runs[SKIM_RUNS];
	const struct skim_run *last;
	uint64_t distance = pass_distance(pass, rows);
	scanner_load(scanner, (pass->bit + distance) / 8 + 1);
	pass->skim.limit = (uint64_t)scanner->bytes.size * 8;
	if (pass->bit > pass->skim.limit)
		return SEEK_INDEX_E_DAMAGED;
	if (distance > pass->skim.limit - pass->bit)
		distance = pass->skim.limit - pass->bit;
	unsigned count = pass_split(pass, distance, pass_left(pass, rows), runs);
	scanner->kernel->skim(&pass->skim, runs, count);
	int r = pass_join(pass, rows, runs, &last);
	if (r || pass->row == rows || !last->failed)
		return r;
	if (scanner->loaded)
		return SEEK_INDEX_E_DAMAGED;
	scanner_load(scanner, (uint64_t)scanner->bytes.size * 2 + SKIM_SLACK);
	return 0;
}

/* After the last row less than a byte of padding may be left. */
static bool pass_is_at_end(const struct pass *pass)
{
	struct scanner *scanner = pass->scanner;
	scanner_load(scanner, UINT64_MAX);
	return scanner->whole && (uint64_t)scanner->bytes.size * 8 - pass->bit < 8;
}

static int pass_run(struct pass *pass, uint32_t rows)
{
	int r = 0;
	while (r == 0 && pass->row < rows)
		r = pass_advance(pass, rows);
	uint32_t known = pass->row;
	if (r == 0 && rows == pass->frame->rows && !pass_is_at_end(pass)) {
		r = SEEK_INDEX_E_DAMAGED;
		known = rows - 1;
	}
	if (known > pass->view.rows)
		seek_index_publish(pass->index, known);
	return r;
}

/* --- the scanner --- */

int scanner_accepts(const struct scan_frame *frame, size_t file_bytes)
{
	uint64_t blocks = (uint64_t)frame->rows * frame->columns * frame->blocks;
	if (file_bytes > UINT32_MAX || frame->offset > file_bytes ||
	    file_bytes - frame->offset > SEEK_INDEX_BYTES_MAX)
		return SEEK_INDEX_E_ODD;
	/* A block takes at least two bits. */
	return blocks <= (uint64_t)(file_bytes - frame->offset) * 4 ? 0 : SEEK_INDEX_E_DAMAGED;
}

static int scanner_room(struct scanner *scanner)
{
	for (unsigned i = 0; i < SKIM_RUNS; i++)
		if (buffer_reserve(&scanner->marks[i], MARKS * sizeof(struct skim_mark)))
			return -ENOMEM;
	return 0;
}

int scanner_extend(struct scanner *scanner, const struct scan_frame *frame, const uint8_t *data,
		   size_t size, uint32_t rows, uint8_t *index, const struct seek_index *view)
{
	struct pass pass;
	int r = scanner_load_codes(scanner, frame);
	r = r ? r : scanner_room(scanner);
	if (r)
		return r;
	uint32_t bit = seek_index_at(view, view->rows, 0).bit;
	if (bit / 8 > size - frame->offset)
		return SEEK_INDEX_E_DAMAGED;
	r = scanner_start(scanner, data + frame->offset + bit / 8, data + size);
	if (r == 0) {
		pass_init(&pass, scanner, frame, index, view);
		r = pass_run(&pass, rows);
	}
	if (scanner->bytes.capacity > BUFFER_KEEP) {
		buffer_deinit(&scanner->bytes);
		buffer_deinit(&scanner->stuffed);
	}
	return r;
}
