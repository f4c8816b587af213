// SPDX-License-Identifier: MIT
#include "work/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "work/entropy_kernel.h"

#define SCAN_MAGIC 0x31584953u /* "SIX1" */
#define SAMPLE_WORDS 64
#define KEEP_BYTES ((size_t)16 << 20) /* scratch above this is given back after the file */

struct scan_header {
	uint32_t magic;
	uint32_t bytes;	     /* of the index, this included */
	uint32_t file_bytes; /* the file's */
	uint32_t offset;     /* of the scan */
	uint64_t sample;     /* of the scan's bytes, see scan_sample() */
	uint16_t width, height;
	uint8_t components, group;
	uint8_t sampling[SCAN_COMPONENTS]; /* h << 4 | v */
	uint8_t zero[6];
};
_Static_assert(sizeof(struct scan_header) == 40, "what is kept has no holes");

/* --- the frame --- */

static bool scan_component_fits(const struct scan_component *component)
{
	return component->h >= 1 && component->h <= 4 && component->v >= 1 && component->v <= 4 &&
	       component->dc < 4 && component->ac < 4;
}

int scan_frame_settle(struct scan_frame *frame)
{
	int32_t h = 1, v = 1;
	frame->blocks = 0;
	if (frame->components < 1 || frame->components > SCAN_COMPONENTS || frame->width < 1 ||
	    frame->width > SCAN_EXTENT_MAX || frame->height < 1 || frame->height > SCAN_EXTENT_MAX)
		return SCAN_E_ODD;
	for (unsigned i = 0; i < frame->components; i++) {
		const struct scan_component *component = &frame->component[i];
		if (!scan_component_fits(component))
			return SCAN_E_ODD;
		h = component->h > h ? component->h : h;
		v = component->v > v ? component->v : v;
		for (int block = 0; block < component->h * component->v; block++) {
			if (frame->blocks == SCAN_BLOCKS)
				return SCAN_E_ODD;
			frame->owner[frame->blocks++] = (uint8_t)i;
		}
	}
	frame->unit_width = 8 * h;
	frame->unit_height = 8 * v;
	frame->columns = (uint32_t)((frame->width + 8 * h - 1) / (8 * h));
	frame->rows = (uint32_t)((frame->height + 8 * v - 1) / (8 * v));
	return 0;
}

/* --- the index as bytes --- */

static uint32_t scan_groups(const struct scan_frame *frame)
{
	return (frame->columns + SCAN_GROUP - 1) / SCAN_GROUP;
}

static size_t scan_entry_bytes(const struct scan_frame *frame)
{
	return sizeof(uint32_t) + frame->components * sizeof(int16_t);
}

/*
 * A few words of the scan, all over it. Where the bits of an MCU change, all that follow move:
 * other bytes that leave these as they are leave the entries right, too.
 */
static uint64_t scan_sample(const uint8_t *scan, size_t size)
{
	uint64_t sample = size;
	for (size_t i = 0; i < SAMPLE_WORDS && size >= sizeof(uint64_t); i++) {
		uint64_t word;
		size_t last = size - sizeof(word);
		memcpy(&word, scan + last * i / (SAMPLE_WORDS - 1), sizeof(word));
		sample = (sample ^ word) * 0x9E3779B97F4A7C15u;
		sample ^= sample >> 32;
	}
	return sample;
}

static struct scan_header scan_header_of(const struct scan_frame *frame, const uint8_t *data,
					 size_t size)
{
	size_t entries = (size_t)frame->rows * scan_groups(frame) + 1;
	struct scan_header header = {
		.magic = SCAN_MAGIC,
		.bytes = (uint32_t)(sizeof(header) + entries * scan_entry_bytes(frame)),
		.file_bytes = (uint32_t)size,
		.offset = frame->offset,
		.sample = scan_sample(data + frame->offset, size - frame->offset),
		.width = (uint16_t)frame->width,
		.height = (uint16_t)frame->height,
		.components = (uint8_t)frame->components,
		.group = SCAN_GROUP,
	};
	for (unsigned i = 0; i < frame->components; i++)
		header.sampling[i] = (uint8_t)(frame->component[i].h << 4 | frame->component[i].v);
	return header;
}

int scan_index_open(struct scan_index *out, const uint8_t *bytes, size_t size,
		    const struct scan_frame *frame, const uint8_t *data, size_t file_bytes)
{
	if (file_bytes > UINT32_MAX || frame->offset > file_bytes)
		return SCAN_E_INDEX;
	struct scan_header header = scan_header_of(frame, data, file_bytes);
	if (size != header.bytes || memcmp(bytes, &header, sizeof(header)) != 0)
		return SCAN_E_INDEX;
	*out = (struct scan_index){bytes + sizeof(header), scan_entry_bytes(frame),
				   scan_groups(frame), frame->rows};
	return 0;
}

struct scan_entry scan_index_at(const struct scan_index *index, uint32_t row, uint32_t group)
{
	struct scan_entry entry = {0};
	const uint8_t *at =
		index->entries + ((size_t)row * index->groups + group) * index->entry_bytes;
	memcpy(&entry.bit, at, sizeof(entry.bit));
	memcpy(entry.dc, at + sizeof(entry.bit), index->entry_bytes - sizeof(entry.bit));
	return entry;
}

/* --- building --- */

/* One code of the files before: many files have the same. */
struct scan_code {
	struct huffman_code code;
	bool known;
	struct huffman huffman;
	uint16_t jump[2 << SKIM_BITS]; /* of AC; the second half is the table, see jump_fill() */
};

struct scanner {
	const struct entropy_kernel *kernel;
	struct scan_code dc[4], ac[4];
	struct buffer bytes;  /* the scan, unstuffed */
	struct buffer stuffs; /* u32: places in them behind which a 0 was left out */
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
	buffer_deinit(&scanner->stuffs);
	free(scanner);
}

/*
 * jump[1 << width ...] is what can be passed with so many bits: the first symbol, and then what can
 * be passed with the bits that it leaves, if it is not too much for one block.
 */
static uint16_t *jump_symbol(uint16_t *jump, uint16_t *to, unsigned width, unsigned length,
			     uint8_t symbol)
{
	unsigned bits = length + (symbol & 15);
	size_t count = (size_t)1 << (width - length), done = 1;
	if (bits > width) {
		*to = SKIM_MISS << 8;
	} else if ((symbol & 15) == 0 && symbol != 0xF0) {
		*to = (uint16_t)(bits | SKIM_END << 8);
	} else {
		uint16_t first = (uint16_t)(bits | ((symbol >> 4) + 1u) << 8);
		done = (size_t)1 << (width - bits);
		for (size_t i = 0; i < done; i++) {
			uint16_t both = (uint16_t)(jump[done + i] + first);
			to[i] = both & SKIM_MISS << 8 ? first : both;
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

static int scan_learn(struct scan_code *slot, const struct huffman_code *code, bool dc)
{
	if (slot->known && memcmp(&slot->code, code, sizeof(*code)) == 0)
		return 0;
	slot->known = false;
	if (huffman_init(&slot->huffman, code, dc))
		return SCAN_E_ODD;
	slot->code = *code;
	if (!dc)
		jump_fill(slot->jump, code);
	slot->known = true;
	return 0;
}

static int scan_learn_all(struct scanner *scanner, const struct scan_frame *frame)
{
	int r = 0;
	for (unsigned i = 0; i < frame->components && r == 0; i++) {
		const struct scan_component *component = &frame->component[i];
		r = scan_learn(&scanner->dc[component->dc], &frame->dc[component->dc], true);
		if (r == 0)
			r = scan_learn(&scanner->ac[component->ac], &frame->ac[component->ac],
				       false);
	}
	return r;
}

const uint8_t *scan_unstuff(const uint8_t *from, const uint8_t *end, uint8_t **to)
{
	uint8_t *out = *to;
	while (from < end) {
		const uint8_t *stuff = memchr(from, 0xFF, (size_t)(end - from));
		size_t run = (size_t)((stuff ? stuff : end) - from);
		memcpy(out, from, run);
		out += run;
		from += run;
		if (!stuff || (end - from > 1 && from[1] != 0))
			break;
		*out++ = 0xFF;
		from += end - from > 1 ? 2 : 1;
	}
	*to = out;
	return from;
}

/* The scan's bytes, unstuffed, into `bytes`. */
static int scanner_load(struct scanner *scanner, const uint8_t *from, const uint8_t *end)
{
	size_t size = (size_t)(end - from);
	if (buffer_reserve(&scanner->bytes, size + SKIM_SLACK) ||
	    buffer_reserve(&scanner->stuffs, size * 2 + 8))
		return -ENOMEM;
	uint8_t *to = scanner->bytes.data;
	scanner->stuffs.size = 0;
	for (;;) {
		const uint8_t *stuff = memchr(from, 0xFF, (size_t)(end - from));
		if (!stuff || end - stuff < 2)
			return SCAN_E_DAMAGED;
		size_t run = (size_t)(stuff - from);
		memcpy(to, from, run);
		to += run;
		if (stuff[1] == 0xD9)
			break;
		if (stuff[1] != 0)
			return SCAN_E_DAMAGED;
		uint32_t place = (uint32_t)(to - scanner->bytes.data);
		memcpy(scanner->stuffs.data + scanner->stuffs.size, &place, sizeof(place));
		scanner->stuffs.size += sizeof(place);
		*to++ = 0xFF;
		from = stuff + 2;
	}
	scanner->bytes.size = (size_t)(to - scanner->bytes.data);
	memset(to, 0, SKIM_SLACK);
	return 0;
}

static struct skim scanner_skim(const struct scanner *scanner, const struct scan_frame *frame)
{
	struct skim skim = {
		.bytes = scanner->bytes.data,
		.limit = (uint64_t)scanner->bytes.size * 8,
		.blocks = frame->blocks,
	};
	for (unsigned i = 0; i < frame->blocks; i++) {
		const struct scan_component *component = &frame->component[frame->owner[i]];
		skim.block[i] = (struct skim_block){
			&scanner->dc[component->dc].huffman, &scanner->ac[component->ac].huffman,
			scanner->ac[component->ac].jump + (1 << SKIM_BITS), frame->owner[i]};
	}
	return skim;
}

/* The state of the pass over the scan. */
struct pass {
	uint64_t bit;	/* unstuffed */
	uint32_t stuff; /* stuffed bytes before it */
	int32_t dc[SCAN_COMPONENTS];
	uint8_t *to;
};

/* An entry for the place where the pass is. */
static int pass_note(struct pass *pass, const struct scanner *scanner,
		     const struct scan_frame *frame)
{
	uint32_t byte = (uint32_t)(pass->bit >> 3), place;
	for (; pass->stuff < scanner->stuffs.size / sizeof(place); pass->stuff++) {
		memcpy(&place, scanner->stuffs.data + pass->stuff * sizeof(place), sizeof(place));
		if (place >= byte)
			break;
	}
	uint32_t bit = (byte + pass->stuff) * 8 + (uint32_t)(pass->bit & 7);
	memcpy(pass->to, &bit, sizeof(bit));
	pass->to += sizeof(bit);
	for (unsigned i = 0; i < frame->components; i++) {
		int16_t dc = (int16_t)pass->dc[i];
		if (dc != pass->dc[i])
			return SCAN_E_DAMAGED;
		memcpy(pass->to, &dc, sizeof(dc));
		pass->to += sizeof(dc);
	}
	return 0;
}

static int scanner_pass(struct scanner *scanner, const struct scan_frame *frame, uint8_t *to)
{
	struct skim skim = scanner_skim(scanner, frame);
	struct pass pass = {.to = to};
	int r = 0;
	for (uint32_t row = 0; row < frame->rows; row++)
		for (uint32_t left = frame->columns; left > 0;) {
			uint32_t mcus = left < SCAN_GROUP ? left : SCAN_GROUP;
			r = pass_note(&pass, scanner, frame);
			if (r)
				return r;
			pass.bit = scanner->kernel->skim(&skim, pass.bit, mcus, pass.dc);
			if (pass.bit == 0)
				return SCAN_E_DAMAGED;
			left -= mcus;
		}
	/* What is left is less than a byte, to fill it up. */
	return skim.limit - pass.bit < 8 ? pass_note(&pass, scanner, frame) : SCAN_E_DAMAGED;
}

/* Whether the scan has so many blocks as the header says: two bits each are the least. */
static bool scan_can_be(const struct scan_frame *frame, size_t bytes)
{
	return (uint64_t)frame->rows * frame->columns * frame->blocks <= (uint64_t)bytes * 4;
}

static int scanner_run(struct scanner *scanner, const struct scan_frame *frame, const uint8_t *data,
		       size_t size, struct buffer *out)
{
	int r = scan_learn_all(scanner, frame);
	if (r == 0)
		r = scanner_load(scanner, data + frame->offset, data + size);
	if (r)
		return r;
	struct scan_header header = scan_header_of(frame, data, size);
	if (buffer_reserve(out, header.bytes))
		return -ENOMEM;
	memcpy(out->data, &header, sizeof(header));
	r = scanner_pass(scanner, frame, out->data + sizeof(header));
	if (r == 0)
		out->size = header.bytes;
	return r;
}

int scanner_build(struct scanner *scanner, const struct scan_frame *frame, const uint8_t *data,
		  size_t size, struct buffer *out)
{
	if (size > UINT32_MAX || frame->offset > size || size - frame->offset > SCAN_BYTES_MAX)
		return SCAN_E_ODD;
	if (!scan_can_be(frame, size - frame->offset))
		return SCAN_E_DAMAGED;
	int r = scanner_run(scanner, frame, data, size, out);
	if (scanner->bytes.capacity > KEEP_BYTES) {
		buffer_deinit(&scanner->bytes);
		buffer_deinit(&scanner->stuffs);
	}
	return r;
}
