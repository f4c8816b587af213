/* SPDX-License-Identifier: MIT */
/*
 * The format of a file of the picture store (picture_store.h): one decoded picture, in the
 * machine's byte order.
 *
 *	header (a block of 4096 bytes), then the rows, packed
 *
 * Of a rewritten file the rows are its bytes, one each, and the scale is 0.
 *
 * The rows are in bands, so that a part of a picture is read and checked without the rest. The
 * header has a checksum of each band and of itself, XXH3-64 under the store's secret: what is
 * damaged, cut short, of another picture or made by somebody else is refused, never shown. Read by
 * pread() and not mapped: a file that is cut short while it is read must not end the daemon.
 *
 * One thread at a time for one file; knows nothing of what else is in the folder.
 */
#ifndef STOKER_STORE_PICTURE_FILE_H
#define STOKER_STORE_PICTURE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/image.h"
#include "base/stamp.h"
#include "cache/picture_cache.h"

enum {
	PICTURE_FILE_E_DAMAGED = 1, /* it is not what was written, or another picture */
	PICTURE_FILE_E_SYSTEM,	    /* a system call failed: errno says why */
};

/* Identity of the picture in a file. */
struct stored_key {
	struct stamp stamp; /* of the file that was decoded or rewritten */
	bool file;	    /* a rewritten file, and not pixels */
	uint32_t scale;	    /* of pixels: at 1/scale of its size */
	bool exif;	    /* turned as its EXIF orientation says */
};

struct stored_shape {
	int32_t width, height; /* at scale 1, turned */
	int32_t columns, rows; /* of the pixels */
	bool scales, alpha;    /* as in struct cached_picture */
	enum picture_worth worth;
};

/* Size of its contents in bytes. */
uint64_t stored_shape_bytes(const struct stored_shape *shape);
/* The shape of a rewritten file of so many bytes, at most INT32_MAX. */
struct stored_shape stored_shape_of_file(size_t bytes);

#define PICTURE_FILE_BLOCK 4096
#define PICTURE_FILE_BANDS 256

struct picture_file_header {
	char magic[8];
	struct stamp stamp;
	uint32_t scale, exif, scales, alpha;
	int32_t width, height, columns, rows;
	uint32_t band_rows, bands, worth, nothing;
	uint64_t band[PICTURE_FILE_BANDS];
	uint8_t zero[PICTURE_FILE_BLOCK - 8 - 16 - 48 - 8 * PICTURE_FILE_BANDS - 8];
	uint64_t checksum;
};

struct picture_file {
	int fd; /* owned */
	const struct digest_secret *secret;
	struct picture_file_header header;
};
#define PICTURE_FILE_NULL ((struct picture_file){.fd = -1})

/* Bytes on the disk of a file of this size. */
uint64_t picture_file_blocks(uint64_t size);
/* Bytes on the disk of a file with so many bytes of pixels. */
uint64_t picture_file_size(uint64_t pixels);

/* Write the whole picture into this folder, under the name `fresh`, which becomes `name` once all
 * of it is there. 0 or PICTURE_FILE_E_SYSTEM. */
int picture_file_write(int folder, const char *fresh, const char *name,
		       const struct digest_secret *secret, const struct stored_key *key,
		       const struct stored_shape *shape, const uint8_t *pixels);

/* Read the header; `fd` is the file's from now on, also on failure. 0 or a condition. */
int picture_file_open(struct picture_file *out, int fd, const struct digest_secret *secret,
		      const struct stored_key *key);
void picture_file_close(struct picture_file *file); /* accepts PICTURE_FILE_NULL, and twice */

struct stored_shape picture_file_shape(const struct picture_file *file);

/* The rows that have to be read to have these: whole bands. `part` is inside the picture. */
struct rect picture_file_part(const struct picture_file *file, struct rect part);
/* Read these rows, which picture_file_part() gave, to memory that has room for them. 0 or a
 * condition. */
int picture_file_read(const struct picture_file *file, struct rect part, uint8_t *to);

#endif
