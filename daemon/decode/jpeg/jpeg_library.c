// SPDX-License-Identifier: MIT
#include "decode/jpeg/jpeg_library.h"

#include <errno.h>

#include <jerror.h>

#include "decode/decode.h"

static void source_nothing(j_decompress_ptr cinfo)
{
	(void)cinfo;
}

static boolean source_fill(j_decompress_ptr cinfo)
{
	(void)cinfo;
	return FALSE;
}

static void source_skip(j_decompress_ptr cinfo, long bytes)
{
	struct jpeg_source_mgr *source = cinfo->src;
	size_t step = bytes > 0 ? (size_t)bytes : 0;
	if (step > source->bytes_in_buffer)
		step = source->bytes_in_buffer;
	source->next_input_byte += step;
	source->bytes_in_buffer -= step;
}

void jpeg_source_init(struct jpeg_source_mgr *source, const uint8_t *data, size_t size)
{
	*source = (struct jpeg_source_mgr){
		.next_input_byte = data,
		.bytes_in_buffer = size,
		.init_source = source_nothing,
		.fill_input_buffer = source_fill,
		.skip_input_data = source_skip,
		.resync_to_restart = jpeg_resync_to_restart,
		.term_source = source_nothing,
	};
}

int jpeg_condition(int code)
{
	switch (code) {
	case JERR_OUT_OF_MEMORY:
		return -ENOMEM;
	case JERR_NO_BACKING_STORE:
	case JERR_IMAGE_TOO_BIG:
	case JERR_WIDTH_OVERFLOW:
		return DECODE_E_LIMIT;
	case JERR_NO_SOI:
		return DECODE_E_FORMAT;
	case JERR_ARITH_NOTIMPL:
	case JERR_BAD_PRECISION:
	case JERR_CCIR601_NOTIMPL:
	case JERR_CONVERSION_NOTIMPL:
	case JERR_FRACT_SAMPLE_NOTIMPL:
	case JERR_NOTIMPL:
	case JERR_NOT_COMPILED:
	case JERR_SOF_UNSUPPORTED:
		return DECODE_E_UNSUPPORTED;
	default:
		return DECODE_E_CORRUPT;
	}
}
