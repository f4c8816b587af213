// SPDX-License-Identifier: MIT
#include "decode/tiff_file.h"

#include <stdio.h>
#include <string.h>

#include "decode/arena.h"

#define ALLOCATION_MAX ((tmsize_t)256 << 20) /* of libtiff itself, at once */

static tmsize_t source_read(thandle_t handle, void *out, tmsize_t size)
{
	struct tiff_file *tiff = handle;
	uint64_t left = tiff->at < tiff->size ? tiff->size - tiff->at : 0;
	uint64_t part = (uint64_t)size < left ? (uint64_t)size : left;
	memcpy(out, tiff->data + tiff->at, (size_t)part);
	tiff->at += part;
	return (tmsize_t)part;
}

static tmsize_t source_write(thandle_t handle, void *data, tmsize_t size)
{
	(void)handle;
	(void)data;
	(void)size;
	return -1;
}

static toff_t source_seek(thandle_t handle, toff_t offset, int whence)
{
	struct tiff_file *tiff = handle;
	tiff->at = whence == SEEK_CUR	? tiff->at + offset
		   : whence == SEEK_END ? tiff->size + offset
					: offset;
	return tiff->at;
}

static toff_t source_size(thandle_t handle)
{
	return ((struct tiff_file *)handle)->size;
}

static int source_close(thandle_t handle)
{
	(void)handle;
	return 0;
}

static int source_map(thandle_t handle, void **base, toff_t *size)
{
	struct tiff_file *tiff = handle;
	*base = (void *)(uintptr_t)tiff->data;
	*size = tiff->size;
	return 1;
}

static void source_unmap(thandle_t handle, void *base, toff_t size)
{
	(void)handle;
	(void)base;
	(void)size;
}

static int keep_words(TIFF *file, void *context, const char *module, const char *format,
		      va_list arguments)
{
	struct tiff_file *tiff = context;
	(void)file;
	(void)module;
	if (!tiff->words[0])
		vsnprintf(tiff->words, sizeof(tiff->words), format, arguments);
	for (char *at = strchr(tiff->words, '\n'); at; at = strchr(at, '\n'))
		*at = ' ';
	return 1; /* it goes nowhere else */
}

static int drop_words(TIFF *file, void *context, const char *module, const char *format,
		      va_list arguments)
{
	(void)file;
	(void)context;
	(void)module;
	(void)format;
	(void)arguments;
	return 1;
}

/* --- the first page's tags, as they lie in the file --- */

/* Sizes in TIFF and BigTIFF: bytes of the count of tags, of a tag, and the offsets of its count and
 * its value. */
struct shape {
	size_t first, count_bytes, tag_bytes, value_at;
	bool big;
};

static const struct shape classic = {4, 2, 12, 8, false}, big = {8, 8, 20, 12, true};

static uint64_t number_at(const struct tiff_file *file, uint64_t at, size_t bytes)
{
	uint64_t number = 0;
	bool little = file->data[0] == 'I';
	for (size_t i = 0; i < bytes; i++) {
		uint64_t byte = file->data[at + (little ? bytes - 1 - i : i)];
		number = number << 8 | byte;
	}
	return number;
}

static void number_put(uint8_t *to, bool little, uint32_t number, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[little ? i : bytes - 1 - i] = (uint8_t)(number >> 8 * i);
}

static const struct shape *file_shape(const struct tiff_file *file)
{
	return file->size >= 16 && number_at(file, 2, 2) == 43 ? &big : &classic;
}

static bool file_has(const struct tiff_file *file, uint64_t at, uint64_t bytes)
{
	return at <= file->size && file->size - at >= bytes;
}

/* The place of the first tag, and how many there are. False if they are not all there. */
static bool file_find_tags(const struct tiff_file *file, uint64_t *at_out, uint64_t *count_out)
{
	const struct shape *shape = file_shape(file);
	size_t width = shape->big ? 8 : 4;
	if (!file_has(file, shape->first, width))
		return false;
	uint64_t at = number_at(file, shape->first, width);
	if (!file_has(file, at, shape->count_bytes))
		return false;
	*count_out = number_at(file, at, shape->count_bytes);
	*at_out = at + shape->count_bytes;
	return *count_out <= file->size / shape->tag_bytes &&
	       file_has(file, *at_out, *count_out * shape->tag_bytes);
}

/* The place of a tag; 0 if there is none. */
static uint64_t file_find_tag(const struct tiff_file *file, uint16_t tag)
{
	const struct shape *shape = file_shape(file);
	uint64_t at, count;
	if (!file_find_tags(file, &at, &count))
		return 0;
	for (; count; count--, at += shape->tag_bytes)
		if (number_at(file, at, 2) == tag)
			return at;
	return 0;
}

/* Number `i` of a tag of one of classic TIFF's kinds of whole numbers. */
static bool file_read_number(const struct tiff_file *file, uint64_t at, uint32_t i, uint32_t *out)
{
	uint64_t kind = number_at(file, at + 2, 2), count = number_at(file, at + 4, 4);
	size_t width = kind == TIFF_BYTE ? 1 : kind == TIFF_SHORT ? 2 : kind == TIFF_LONG ? 4 : 0;
	uint64_t from = at + classic.value_at;
	if (width == 0 || i >= count)
		return false;
	if (count * width > 4)
		from = number_at(file, from, 4);
	if (!file_has(file, from, (i + (uint64_t)1) * width))
		return false;
	*out = (uint32_t)number_at(file, from + i * (uint64_t)width, width);
	return true;
}

bool tiff_file_tag(const struct tiff_file *file, uint16_t tag, uint32_t *out)
{
	uint64_t at = file_find_tag(file, tag);
	if (!at || file_shape(file)->big) {
		if (at && number_at(file, at + 2, 2) == TIFF_SHORT) {
			*out = (uint32_t)number_at(file, at + big.value_at, 2);
			return true;
		}
		return false;
	}
	return file_read_number(file, at, 0, out);
}

uint64_t tiff_file_count(const struct tiff_file *file, uint16_t tag)
{
	uint64_t at = file_find_tag(file, tag);
	return at ? number_at(file, at + 4, file_shape(file)->big ? 8 : 4) : 0;
}

/* --- pixels that are not compressed --- */

/* Changes of a copy of the file. */
struct mending {
	uint32_t strips, strip_bytes, last_bytes; /* how many; bytes of each; of the last */
	bool counts, planes; /* ... are missing; ... are of a number that means nothing */
};

static uint32_t tag_or(const struct tiff_file *file, uint16_t tag, uint32_t otherwise)
{
	uint32_t number = otherwise;
	tiff_file_tag(file, tag, &number);
	return number;
}

/* The bytes of each strip. False if they would not fit into their numbers. */
static bool mending_measure(struct mending *out, const struct tiff_file *file)
{
	uint64_t width = tag_or(file, TIFFTAG_IMAGEWIDTH, 0);
	uint64_t height = tag_or(file, TIFFTAG_IMAGELENGTH, 0);
	uint64_t rows = tag_or(file, TIFFTAG_ROWSPERSTRIP, (uint32_t)height);
	uint64_t samples = tag_or(file, TIFFTAG_SAMPLESPERPIXEL, 1);
	uint64_t bits = tag_or(file, TIFFTAG_BITSPERSAMPLE, 1), stride, bytes;
	if (width == 0 || height == 0 || rows == 0 || samples > 16 || bits > 64)
		return false;
	if (rows > height)
		rows = height;
	stride = (width * samples * bits + 7) / 8;
	if (__builtin_mul_overflow(stride, rows, &bytes) || bytes > UINT32_MAX)
		return false;
	out->strip_bytes = (uint32_t)bytes;
	out->last_bytes = (uint32_t)(stride * (height - (height - 1) / rows * rows));
	return (height + rows - 1) / rows == out->strips;
}

static bool file_needs_mending(const struct tiff_file *file, struct mending *out)
{
	uint64_t strips = file->size < 8 || file_shape(file)->big
				  ? 0
				  : file_find_tag(file, TIFFTAG_STRIPOFFSETS);
	uint32_t planar = PLANARCONFIG_CONTIG, last;
	if (!strips || tag_or(file, TIFFTAG_COMPRESSION, COMPRESSION_NONE) != COMPRESSION_NONE)
		return false;
	tiff_file_tag(file, TIFFTAG_PLANARCONFIG, &planar);
	*out = (struct mending){
		.strips = (uint32_t)number_at(file, strips + 4, 4),
		.counts = !file_find_tag(file, TIFFTAG_STRIPBYTECOUNTS),
		.planes = planar != PLANARCONFIG_CONTIG && planar != PLANARCONFIG_SEPARATE,
	};
	return (out->planes || (out->counts && planar == PLANARCONFIG_CONTIG)) &&
	       file_read_number(file, strips, out->strips - 1, &last) && mending_measure(out, file);
}

static uint8_t *put_tag(uint8_t *to, bool little, uint16_t tag, uint16_t kind, uint32_t count,
			uint32_t value)
{
	number_put(to, little, tag, 2);
	number_put(to + 2, little, kind, 2);
	number_put(to + 4, little, count, 4);
	memset(to + 8, 0, 4);
	number_put(to + 8, little, value, kind == TIFF_SHORT && count == 1 ? 2 : 4);
	return to + classic.tag_bytes;
}

/* Write the tags again, in order, with those that are mended. Returns their number. */
static uint32_t put_tags(uint8_t *to, const struct tiff_file *file, const struct mending *mending,
			 uint32_t counts_at)
{
	bool little = file->data[0] == 'I', counts = mending->counts;
	uint64_t at = 0, count = 0;
	uint32_t written = 0;
	file_find_tags(file, &at, &count);
	for (uint64_t i = 0; i <= count; i++, at += classic.tag_bytes) {
		uint64_t tag = i < count ? number_at(file, at, 2) : UINT64_MAX;
		if (counts && tag > TIFFTAG_STRIPBYTECOUNTS) {
			to = put_tag(to, little, TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG,
				     mending->strips,
				     mending->strips == 1 ? mending->last_bytes : counts_at);
			counts = false;
			written++;
		}
		if (i == count)
			break;
		if (tag == TIFFTAG_PLANARCONFIG && mending->planes)
			put_tag(to, little, TIFFTAG_PLANARCONFIG, TIFF_SHORT, 1,
				PLANARCONFIG_CONTIG);
		else
			memcpy(to, file->data + at, classic.tag_bytes);
		to += classic.tag_bytes;
		written++;
	}
	memset(to, 0, 4); /* no other page */
	return written;
}

/* Have the file be a copy with the tags that are missing, behind all that it has. False if there is
 * no memory. */
static bool file_mend(struct tiff_file *file, const struct mending *mending, struct arena *arena)
{
	bool little = file->data[0] == 'I';
	uint64_t at, count;
	if (!file_find_tags(file, &at, &count))
		return true;
	size_t counts_at = ((size_t)file->size + 1) & ~(size_t)1;
	size_t tags_at = counts_at + (size_t)mending->strips * 4;
	size_t size = tags_at + 2 + (size_t)(count + 1) * classic.tag_bytes + 4;
	uint8_t *copy = size <= UINT32_MAX ? arena_take(arena, size) : NULL;
	if (!copy)
		return false;
	memcpy(copy, file->data, (size_t)file->size);
	memset(copy + file->size, 0, size - (size_t)file->size);
	for (uint32_t i = 0; i < mending->strips; i++)
		number_put(copy + counts_at + (size_t)i * 4, little,
			   i + 1 < mending->strips ? mending->strip_bytes : mending->last_bytes, 4);
	uint32_t written = put_tags(copy + tags_at + 2, file, mending, (uint32_t)counts_at);
	number_put(copy + tags_at, little, written, 2);
	number_put(copy + classic.first, little, (uint32_t)tags_at, 4);
	file->data = copy;
	file->size = size;
	return true;
}

TIFF *tiff_file_open(struct tiff_file *tiff, const uint8_t *data, size_t size, struct arena *arena)
{
	struct mending mending;
	*tiff = (struct tiff_file){.data = data, .size = size};
	if (file_needs_mending(tiff, &mending) && !file_mend(tiff, &mending, arena))
		return NULL;
	TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
	if (!options)
		return NULL;
	TIFFOpenOptionsSetErrorHandlerExtR(options, keep_words, tiff);
	TIFFOpenOptionsSetWarningHandlerExtR(options, drop_words, NULL);
	TIFFOpenOptionsSetMaxSingleMemAlloc(options, ALLOCATION_MAX);
	TIFF *file =
		TIFFClientOpenExt("picture", "r", tiff, source_read, source_write, source_seek,
				  source_close, source_size, source_map, source_unmap, options);
	TIFFOpenOptionsFree(options);
	return file;
}
