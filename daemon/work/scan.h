/* SPDX-License-Identifier: MIT */
/*
 * The scan of a baseline JPEG and its index: where in the bits every 16th MCU of each row of MCUs
 * begins, and what the DC values are there. With it a part of the picture can be decoded without
 * what comes before (entropy.h). Building an index is a check of the whole scan: it exists only for
 * one that libjpeg decodes to its end without a warning.
 *
 * An index is a flat block of bytes that can be moved, copied and kept:
 *	struct scan_header (see scan.c), then for each row of MCUs and each group of 16 in it, and
 *	once more for the end:	bit in the scan (u32), DC of each component (i16), packed
 * in the machine's byte order; one of the other order is not taken.
 *
 * Pure: bytes in, bytes out; hostile ones too. Knows no libjpeg and no file. One thread at a time.
 *
 * Conditions: SCAN_E_..., why a scan has no index. The first few say what kind of file it is and
 * are found by who reads its header.
 */
#ifndef STOKER_WORK_SCAN_H
#define STOKER_WORK_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "work/huffman.h"

#define SCAN_GROUP 16		   /* MCUs from one entry to the next */
#define SCAN_COMPONENTS 4	   /* at most */
#define SCAN_BLOCKS 10		   /* of an MCU, at most */
#define SCAN_BYTES_MAX (64u << 20) /* of a scan */
#define SCAN_EXTENT_MAX 65500	   /* width and height, as libjpeg has it */
#define SCAN_STEP_BITS 31	   /* one symbol and its number take no more */

enum {
	SCAN_E_PROGRESSIVE = 1,
	SCAN_E_ARITHMETIC,
	SCAN_E_RESTARTS, /* a restart interval */
	SCAN_E_SCANS,	 /* more than one scan */
	SCAN_E_ODD,	 /* a form that nothing needs: 12 bits, a warning in the header, huge */
	SCAN_E_DAMAGED,	 /* cut short, no end, or bits that libjpeg would warn of */
	SCAN_E_INDEX,	 /* of an index: not one of this picture */
	SCAN_REASONS,
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

int scan_frame_settle(struct scan_frame *frame); /* 0 or SCAN_E_ODD */

struct scan_entry {
	uint32_t bit; /* from the scan's first byte, as it stands in the file */
	int16_t dc[SCAN_COMPONENTS];
};

/* A view of an index; borrows its bytes. */
struct scan_index {
	const uint8_t *entries;
	size_t entry_bytes;
	uint32_t groups; /* of a row */
	uint32_t rows;
};

/* Look at a block of bytes as an index of this picture in the file `data`. 0 or SCAN_E_INDEX. */
int scan_index_open(struct scan_index *out, const uint8_t *bytes, size_t size,
		    const struct scan_frame *frame, const uint8_t *data, size_t file_bytes);
/* `group` may be `groups`: the row's end. */
struct scan_entry scan_index_at(const struct scan_index *index, uint32_t row, uint32_t group);

/* The tools for building: tables and scratch memory, used again from file to file. */
struct scanner;
struct entropy_kernel;
int scanner_new(struct scanner **out, const struct entropy_kernel *kernel); /* 0 or -ENOMEM */
void scanner_free(struct scanner *scanner);

/* Check the scan of the file `data` and write its index to `out`. 0, SCAN_E_ODD, SCAN_E_DAMAGED or
 * -ENOMEM. */
int scanner_build(struct scanner *scanner, const struct scan_frame *frame, const uint8_t *data,
		  size_t size, struct buffer *out);

/* Entropy-coded bytes to plain ones: FF 00 is FF. Stops before a marker or at the end; returns
 * where. `to` has room for all. */
const uint8_t *scan_unstuff(const uint8_t *from, const uint8_t *end, uint8_t **to);

#endif
