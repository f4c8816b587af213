// SPDX-License-Identifier: MIT
#include "decode/tiff_file.h"

#include <stdio.h>
#include <string.h>

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

TIFF *tiff_file_open(struct tiff_file *tiff, const uint8_t *data, size_t size)
{
	*tiff = (struct tiff_file){.data = data, .size = size};
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
