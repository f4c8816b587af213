// SPDX-License-Identifier: MIT
#include "decode/jpeg/jpeg_library.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include <jerror.h>

#include "decode/decode.h"
#include "decode/exif.h"

#define SPARE_MEMORY ((size_t)16 << 20) /* what libjpeg may use beside coefficients */

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

static uint64_t round_up(uint64_t number, int multiple)
{
	return (number + (unsigned)multiple - 1) / (unsigned)multiple * (unsigned)multiple;
}

uint64_t jpeg_coefficient_bytes(const struct jpeg_decompress_struct *cinfo)
{
	uint64_t bytes = 0;
	for (int i = 0; i < cinfo->num_components; i++) {
		const jpeg_component_info *component = &cinfo->comp_info[i];
		bytes += round_up(component->width_in_blocks, component->h_samp_factor) *
			 round_up(component->height_in_blocks, component->v_samp_factor) *
			 sizeof(JBLOCK);
	}
	return bytes;
}

static bool marker_begins(jpeg_saved_marker_ptr marker, const char *name, size_t size)
{
	return marker->data_length >= size && memcmp(marker->data, name, size) == 0;
}

unsigned jpeg_orientation(const struct jpeg_decompress_struct *cinfo)
{
	static const char exif[] = {'E', 'x', 'i', 'f', 0, 0},
			  xmp[] = "http://ns.adobe.com/xap/1.0/";
	struct metadata found = {0};
	for (jpeg_saved_marker_ptr at = cinfo->marker_list; at; at = at->next) {
		if (!found.exif && marker_begins(at, exif, sizeof(exif))) {
			found.exif = at->data;
			found.exif_size = at->data_length;
		} else if (marker_begins(at, xmp, sizeof(xmp))) {
			found.xmp = at->data + sizeof(xmp);
			found.xmp_size = at->data_length - sizeof(xmp);
		}
	}
	return metadata_orientation(&found);
}

void jpeg_limit_memory(struct jpeg_decompress_struct *cinfo, uint64_t bytes)
{
	if (bytes > LONG_MAX - SPARE_MEMORY)
		bytes = LONG_MAX - SPARE_MEMORY;
	cinfo->mem->max_memory_to_use = (long)(bytes + SPARE_MEMORY);
}

bool jpeg_is_smoothed(const struct jpeg_decompress_struct *cinfo)
{
	if (!cinfo->progressive_mode || !cinfo->coef_bits)
		return false;
	for (int i = 0; i < cinfo->num_components; i++)
		for (int k = 1; k < 10; k++)
			if (cinfo->coef_bits[i][k] != 0)
				return true;
	return false;
}

struct rect jpeg_crop(struct jpeg_decompress_struct *cinfo, struct rect need)
{
	int32_t unit = cinfo->max_h_samp_factor * DCTSIZE;
	int32_t left = need.x / unit * unit - unit;
	int64_t right = ((int64_t)need.x + need.width + unit - 1) / unit * unit + unit;
	if (left < 0)
		left = 0;
	if (right > cinfo->image_width)
		right = cinfo->image_width;
	JDIMENSION x = (JDIMENSION)left, width = (JDIMENSION)(right - left);
	if (width < cinfo->image_width)
		jpeg_crop_scanline(cinfo, &x, &width);
	return (struct rect){(int32_t)x, need.y, (int32_t)width, need.height};
}
