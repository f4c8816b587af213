// SPDX-License-Identifier: MIT
#include "store/picture_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file_io.h"

#define MAGIC "stokerP1"
#define BAND_BYTES ((size_t)32 << 10) /* and a little more, or as many as there may be bands */

_Static_assert(sizeof(struct picture_file_header) == PICTURE_FILE_BLOCK, "no padding");

static size_t header_pitch(const struct picture_file_header *header)
{
	return (header->scale ? 3 : 1) * (size_t)header->columns;
}

/* The rows of a band; the last one has fewer. */
static uint32_t band_rows(const struct picture_file_header *header, uint32_t band)
{
	uint32_t left = (uint32_t)header->rows - band * header->band_rows;
	return left < header->band_rows ? left : header->band_rows;
}

static uint64_t header_checksum(const struct picture_file_header *header,
				const struct digest_secret *secret)
{
	return digest_secret_of(secret, header, offsetof(struct picture_file_header, checksum));
}

uint64_t stored_shape_bytes(const struct stored_shape *shape)
{
	return (shape->worth == PICTURE_FILE ? 1 : 3) * (uint64_t)shape->columns *
	       (uint64_t)shape->rows;
}

struct stored_shape stored_shape_of_file(size_t bytes)
{
	return (struct stored_shape){.width = 1,
				     .height = 1,
				     .columns = 1,
				     .rows = (int32_t)bytes,
				     .worth = PICTURE_FILE};
}

uint64_t picture_file_blocks(uint64_t size)
{
	const uint64_t block = PICTURE_FILE_BLOCK;
	return (size + block - 1) / block * block;
}

uint64_t picture_file_size(uint64_t pixels)
{
	return picture_file_blocks(PICTURE_FILE_BLOCK + pixels);
}

/* -- write -------------------------------------------------------------------------------- */

static struct picture_file_header header_of(const struct stored_key *key,
					    const struct stored_shape *shape)
{
	struct picture_file_header header = {
		.magic = MAGIC,
		.stamp = key->stamp,
		.scale = key->file ? 0 : key->scale,
		.exif = key->exif,
		.scales = shape->scales,
		.alpha = shape->alpha,
		.width = shape->width,
		.height = shape->height,
		.columns = shape->columns,
		.rows = shape->rows,
		.worth = shape->worth,
	};
	uint32_t rows = (uint32_t)shape->rows;
	uint32_t least = (rows + PICTURE_FILE_BANDS - 1) / PICTURE_FILE_BANDS;
	header.band_rows = (uint32_t)(BAND_BYTES / header_pitch(&header)) + 1;
	header.band_rows = header.band_rows > least ? header.band_rows : least;
	header.bands = (rows + header.band_rows - 1) / header.band_rows;
	return header;
}

/* 0 or a negative errno. */
static int write_picture(int fd, const struct digest_secret *secret, const struct stored_key *key,
			 const struct stored_shape *shape, const uint8_t *pixels)
{
	struct picture_file_header header = header_of(key, shape);
	size_t pitch = header_pitch(&header), at = 0;
	for (uint32_t band = 0; band < header.bands; band++) {
		size_t size = band_rows(&header, band) * pitch;
		header.band[band] = digest_secret_of(secret, pixels + at, size);
		at += size;
	}
	header.checksum = header_checksum(&header, secret);
	struct iovec parts[] = {{&header, sizeof(header)}, {(void *)(uintptr_t)pixels, at}};
	return file_write_all(fd, parts, 2);
}

int picture_file_write(int folder, const char *fresh, const char *name,
		       const struct digest_secret *secret, const struct stored_key *key,
		       const struct stored_shape *shape, const uint8_t *pixels)
{
	int fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return PICTURE_FILE_E_SYSTEM;
	int error = -write_picture(fd, secret, key, shape, pixels);
	if (close(fd) < 0 && !error)
		error = errno;
	if (!error && renameat(folder, fresh, folder, name) < 0)
		error = errno;
	if (error)
		unlinkat(folder, fresh, 0);
	errno = error;
	return error ? PICTURE_FILE_E_SYSTEM : 0;
}

/* -- read --------------------------------------------------------------------------------- */

/* 0 or a condition. */
static int read_piece(int fd, void *to, size_t size, off_t at)
{
	int r = file_read_all(fd, to, size, at);
	if (r >= 0)
		return r == 0 ? 0 : PICTURE_FILE_E_DAMAGED;
	errno = -r;
	return PICTURE_FILE_E_SYSTEM;
}

/* Is it this picture's, whole, and written by who has the secret? Then its numbers are right. */
static bool header_is_good(const struct picture_file_header *header,
			   const struct digest_secret *secret, const struct stored_key *key)
{
	return memcmp(header->magic, MAGIC, sizeof(header->magic)) == 0 &&
	       header->checksum == header_checksum(header, secret) &&
	       stamp_equal(&header->stamp, &key->stamp) &&
	       header->scale == (key->file ? 0 : key->scale) && header->exif == key->exif;
}

int picture_file_open(struct picture_file *out, int fd, const struct digest_secret *secret,
		      const struct stored_key *key)
{
	struct picture_file file = {.fd = fd, .secret = secret};
	int r = read_piece(fd, &file.header, sizeof(file.header), 0);
	if (r == 0 && !header_is_good(&file.header, secret, key))
		r = PICTURE_FILE_E_DAMAGED;
	if (r)
		picture_file_close(&file);
	else
		*out = file;
	return r;
}

void picture_file_close(struct picture_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

struct stored_shape picture_file_shape(const struct picture_file *file)
{
	const struct picture_file_header *header = &file->header;
	return (struct stored_shape){
		.width = header->width,
		.height = header->height,
		.columns = header->columns,
		.rows = header->rows,
		.scales = header->scales,
		.alpha = header->alpha,
		.worth = (enum picture_worth)header->worth,
	};
}

struct rect picture_file_part(const struct picture_file *file, struct rect part)
{
	const struct picture_file_header *header = &file->header;
	int32_t band = (int32_t)header->band_rows;
	int32_t first = part.y / band * band;
	int32_t end = (part.y + part.height + band - 1) / band * band;
	end = end < header->rows ? end : header->rows;
	return (struct rect){0, first, header->columns, end - first};
}

int picture_file_read(const struct picture_file *file, struct rect part, uint8_t *to)
{
	const struct picture_file_header *header = &file->header;
	size_t pitch = header_pitch(header), left = (size_t)part.height * pitch;
	off_t at = PICTURE_FILE_BLOCK + (off_t)((size_t)part.y * pitch);
	int r = read_piece(file->fd, to, left, at);
	for (uint32_t band = (uint32_t)part.y / header->band_rows; r == 0 && left > 0; band++) {
		size_t size = band_rows(header, band) * pitch;
		if (digest_secret_of(file->secret, to, size) != header->band[band])
			r = PICTURE_FILE_E_DAMAGED;
		to += size;
		left -= size;
	}
	return r;
}
