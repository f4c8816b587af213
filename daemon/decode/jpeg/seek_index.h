/* SPDX-License-Identifier: MIT */
/*
 * The scan of a baseline JPEG and its index: where in the bits every 16th MCU of each row of MCUs
 * begins, and what the DC values are there. With it a part of the picture can be decoded without
 * what comes before (entropy.h). An index knows the rows from the first one down to some row, and
 * may learn further ones (scanner.h); a row that it knows is one that libjpeg decodes, with all
 * above it, without a warning. Of the rows below nothing is said.
 *
 * An index is a flat block of bytes that can be moved, copied and kept: struct seek_index_header,
 *then for each row of MCUs and each group of 16 in it, and once more for the end, an entry, packed:
 *bit in the scan (u32), DC of each component (i16) all in the machine's byte order; one of the
 *other order is not taken. In memory it has its last size from the start; what is kept elsewhere
 *ends behind the rows that it knows. The first entry of the first row that is not known is known,
 *too: there one goes on. Of a block that comes from outside only the header's agreement with the
 *picture is checked. Which file it is of, and whether its bytes are still those that were written,
 *is for who keeps it.
 *
 * Pure: bytes in, bytes out; hostile ones too. Knows no libjpeg and no file. Any thread; what may
 *be done beside each other is said below.
 *
 * Conditions: SEEK_INDEX_E_..., why a scan has no index. The first few say what kind of file it is
 *and are found by who reads its header.
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
#define SCAN_COMPONENTS 4		 /* at most */
#define SCAN_BLOCKS 10			 /* of an MCU, at most */
#define SEEK_INDEX_BYTES_MAX (64u << 20) /* of a scan */
#define SEEK_INDEX_EXTENT_MAX 65500	 /* width and height, as libjpeg has it */
#define SEEK_INDEX_STEP_BITS 31		 /* one symbol and its number take no more */

enum {
	SEEK_INDEX_E_PROGRESSIVE = 1,
	SEEK_INDEX_E_ARITHMETIC,
	SEEK_INDEX_E_RESTARTS, /* a restart interval */
	SEEK_INDEX_E_SCANS,    /* more than one scan */
	SEEK_INDEX_E_ODD, /* a form that nothing needs: 12 bits, a warning in the header, huge */
	SEEK_INDEX_E_DAMAGED, /* cut short, no end, or bits that libjpeg would warn of */
	SEEK_INDEX_E_INDEX,   /* of an index: not one of this picture */
	SEEK_INDEX_REASONS,
};

/* What the header says: filled in by who has read it, the second part by scan_frame_settle(). */
struct scan_frame {
	int32_t width, height;
	uint32_t offset; /* of the scan in the file */
	unsigned components;
	struct scan_component {
		uint8_t h, v;	/* sampling; 1, 1 for the only one */
		uint8_t dc, ac; /* its codes */
	} component[SCAN_COMPONENTS];
	struct huffman_code dc[4], ac[4];

	int32_t unit_width, unit_height; /* of an MCU in pixels */
	uint32_t columns, rows;		 /* of MCUs */
	unsigned blocks;		 /* of an MCU */
	uint8_t owner[SCAN_BLOCKS];	 /* the component of each block */
};

int scan_frame_settle(struct scan_frame *frame); /* 0 or SEEK_INDEX_E_ODD */

struct seek_index_entry {
	uint32_t bit; /* from the scan's first byte, as it stands in the file */
	int16_t dc[SCAN_COMPONENTS];
};

/* What stands before the entries. All but `known` is settled when the index begins. */
struct seek_index_header {
	uint32_t magic;	     /* SEEK_INDEX_MAGIC */
	uint32_t bytes;	     /* of the index once all rows are known, this included */
	uint32_t file_bytes; /* the file's */
	uint32_t offset;     /* of the scan */
	uint64_t sample;     /* of the scan's bytes: a few of them, all over it */
	uint16_t width, height;
	uint8_t components, group;	   /* group: SEEK_INDEX_GROUP */
	uint8_t sampling[SCAN_COMPONENTS]; /* h << 4 | v */
	uint8_t zero[2];
	uint32_t known; /* rows of MCUs */
};

/* An index of this picture that knows no row, in `out`. 0 or -ENOMEM. */
int seek_index_begin(struct buffer *out, const struct scan_frame *frame, const uint8_t *data,
		     size_t file_bytes);

/* The size in memory of an index in these bytes, at any address: its header's, if it agrees with
 * itself and `size` is enough for the rows that it knows; else 0. */
size_t seek_index_size(const uint8_t *bytes, size_t size);

/*
 * Below, `index` is at an address that is a multiple of 8 and has all its memory. Any number of
 * threads may read it while one makes it grow. `bytes` are such as have a seek_index_size().
 */
/* Make memory that is all zero an index. */
void seek_index_start(uint8_t *index, const uint8_t *bytes);
/* Take over what another index of the same picture knows beyond this one. */
void seek_index_grow(uint8_t *index, const uint8_t *bytes);
/* What it knows by now, as a block to be kept elsewhere; with all its memory. 0 or -ENOMEM. */
int seek_index_copy(struct buffer *out, const uint8_t *index);

/* A view of an index, of the rows known when it was opened; borrows its bytes. */
struct seek_index {
	const uint8_t *entries;
	size_t entry_bytes;
	uint32_t groups; /* of a row */
	uint32_t rows;	 /* known */
};

/* Look at an index of `size` bytes as one of this picture in the file `data`. 0 or
 * SEEK_INDEX_E_INDEX. */
int seek_index_open(struct seek_index *out, const uint8_t *index, size_t size,
		    const struct scan_frame *frame, const uint8_t *data, size_t file_bytes);
/* Of a row that is known; `group` may be `groups`: the row's end. */
struct seek_index_entry seek_index_at(const struct seek_index *index, uint32_t row, uint32_t group);

/* Write an entry of a row that is not known yet, and then say that the rows before `rows` are. For
 * the only thread that knows of this index. */
void seek_index_set(uint8_t *index, const struct seek_index *view, uint32_t row, uint32_t group,
		    const struct seek_index_entry *entry);
void seek_index_know(uint8_t *index, uint32_t rows);

/* Entropy-coded bytes to plain ones: FF 00 is FF. Stops before a marker or at the end; returns
 * where. `to` has room for all. */
const uint8_t *scan_unstuff(const uint8_t *from, const uint8_t *end, uint8_t **to);

#endif
