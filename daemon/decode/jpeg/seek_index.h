/* SPDX-License-Identifier: MIT */
/*
 * The seek index of a baseline JPEG: for every 16th MCU of each row of MCUs the bit position in the
 * scan where it begins, and the DC values there. With it a part of the picture is decoded without
 * the data before it (entropy.h). An index covers the rows of MCUs from the first down to some row
 * and can be extended (scanner.h). libjpeg decodes the rows that are covered without a warning; of
 * the rows below nothing is known.
 *
 * An index is a flat block of bytes that can be moved, copied and stored: struct seek_index_header,
 * then for each row, and each group of 16 MCUs in it, an entry, and one more entry for the end. An
 * entry is packed: bit in the scan (u32), DC of each component (i16). All is in the machine's byte
 * order; an index of the other order is refused. In memory it has its final size from the start; a
 * stored one ends after the rows that it covers. The first entry of the first row that is not
 * covered is there, too: an extension goes on from it. Of a block from outside only the header is
 * checked against the picture. Whoever stores an index has to know which file it is of, and that
 * its bytes are still those that were written.
 *
 * Pure: bytes in, bytes out; they may be hostile. Knows no libjpeg and no file. Any thread; which
 * calls may run at the same time is said below.
 *
 * Conditions: SEEK_INDEX_E_..., why a file has no index. All but the last two follow from the
 * file's header.
 */
#ifndef STOKER_DECODE_JPEG_SEEK_INDEX_H
#define STOKER_DECODE_JPEG_SEEK_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "decode/jpeg/huffman.h"

#define SEEK_INDEX_MAGIC 0x32584953u	 /* "SIX2" */
#define SEEK_INDEX_GROUP 16		 /* MCUs from one entry to the next */
#define SCAN_COMPONENTS 4		 /* the most in a scan */
#define SCAN_BLOCKS 10			 /* the most in an MCU */
#define SEEK_INDEX_BYTES_MAX (64u << 20) /* of a scan */
#define SEEK_INDEX_EXTENT_MAX 65500	 /* width and height, as libjpeg has it */
#define SEEK_INDEX_STEP_BITS 31		 /* the most of one symbol and its value */

enum {
	SEEK_INDEX_E_PROGRESSIVE = 1,
	SEEK_INDEX_E_ARITHMETIC,
	SEEK_INDEX_E_RESTARTS, /* a restart interval */
	SEEK_INDEX_E_SCANS,    /* more than one scan */
	SEEK_INDEX_E_ODD,      /* a rare form: 12 bits, a warning in the header, too large */
	SEEK_INDEX_E_DAMAGED,  /* cut short, no end marker, or data that libjpeg would warn of */
	SEEK_INDEX_E_INDEX,    /* the index is not one of this picture */
	SEEK_INDEX_REASONS,
};

/* Contents of the headers of frame and scan; scan_frame_complete() derives the second part. */
struct scan_frame {
	int32_t width, height;
	uint32_t offset; /* of the scan in the file */
	unsigned components;
	struct scan_component {
		uint8_t h, v;	/* sampling; 1, 1 for the only one */
		uint8_t dc, ac; /* numbers of its Huffman codes */
	} component[SCAN_COMPONENTS];
	struct huffman_code dc[4], ac[4];

	int32_t unit_width, unit_height; /* of an MCU in pixels */
	uint32_t columns, rows;		 /* of MCUs */
	unsigned blocks;		 /* of an MCU */
	uint8_t owner[SCAN_BLOCKS];	 /* which component each block is of */
};

int scan_frame_complete(struct scan_frame *frame); /* 0 or SEEK_INDEX_E_ODD */

struct seek_index_entry {
	uint32_t bit; /* from the scan's first byte in the file, stuffed bytes included */
	int16_t dc[SCAN_COMPONENTS];
};

/* All members but `known` are fixed when the index is created. */
struct seek_index_header {
	uint32_t magic;	     /* SEEK_INDEX_MAGIC */
	uint32_t bytes;	     /* of an index that covers all rows, header included */
	uint32_t file_bytes; /* the file's */
	uint32_t offset;     /* of the scan */
	uint64_t checksum;   /* of some of the scan's bytes, spread over it */
	uint16_t width, height;
	uint8_t components, group;	   /* group: SEEK_INDEX_GROUP */
	uint8_t sampling[SCAN_COMPONENTS]; /* h << 4 | v */
	uint8_t zero[2];
	uint32_t known; /* rows of MCUs that are covered */
};

/* Create in `out` an index of this picture that covers no row. 0 or -ENOMEM. */
int seek_index_begin(struct buffer *out, const struct scan_frame *frame, const uint8_t *data,
		     size_t file_bytes);

/* The size in memory of the index in these bytes, which may be unaligned; 0 if the header is not
 * valid or `size` is too small for the rows that it covers. */
size_t seek_index_size(const uint8_t *bytes, size_t size);

/*
 * Below, `index` is aligned to 8 bytes and has its final size. Any number of threads may read it
 * while one merges into it. `bytes` have passed seek_index_size().
 */
/* Copy `bytes` to memory that is all zero. */
void seek_index_init(uint8_t *index, const uint8_t *bytes);
/* Add the rows that another index of the same picture covers and this one does not. */
void seek_index_merge(uint8_t *index, const uint8_t *bytes);
/* Copy the rows covered now, as a block to be stored; `out` has room for the final size. 0 or
 * -ENOMEM. */
int seek_index_copy(struct buffer *out, const uint8_t *index);

/* A view of an index, of the rows covered when it was opened; borrows its bytes. */
struct seek_index {
	const uint8_t *entries;
	size_t entry_bytes;
	uint32_t groups; /* of a row */
	uint32_t rows;	 /* covered */
};

/* View an index of `size` bytes, if its header is the one of this picture in the file `data`. 0 or
 * SEEK_INDEX_E_INDEX. */
int seek_index_open(struct seek_index *out, const uint8_t *index, size_t size,
		    const struct scan_frame *frame, const uint8_t *data, size_t file_bytes);
/* The entry of a row that is covered; `group` may be `groups`: the row's end. */
struct seek_index_entry seek_index_at(const struct seek_index *index, uint32_t row, uint32_t group);

/* Write an entry of a row that is not covered yet; then declare the rows before `rows` covered.
 * Only for an index that no other thread has seen. */
void seek_index_write(uint8_t *index, const struct seek_index *view, uint32_t row, uint32_t group,
		      const struct seek_index_entry *entry);
void seek_index_publish(uint8_t *index, uint32_t rows);

/* Remove byte stuffing: FF 00 becomes FF. Stops before a marker or at the end, and returns where.
 * `to` has room for all. */
const uint8_t *scan_unstuff(const uint8_t *from, const uint8_t *end, uint8_t **to);

#endif
