// SPDX-License-Identifier: MIT
/*
 * The library cannot be stopped in the middle, and need not be: its work and its memory are bounded
 * by the pixels of the canvas and the bytes of the file, and both have a gate.
 */
#include "decode/webp.h"

#include <errno.h>
#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>

#include "decode/exif.h"

#define MARGIN 2 /* columns and rows that chroma upsampling looks beyond what is needed */

static int webp_fault(struct fault *fault, VP8StatusCode code)
{
	switch (code) {
	case VP8_STATUS_OUT_OF_MEMORY:
		return fault_say(fault, -ENOMEM, "no memory for the picture");
	case VP8_STATUS_NOT_ENOUGH_DATA:
		return fault_say(fault, DECODE_E_CORRUPT, "WebP: cut short");
	case VP8_STATUS_UNSUPPORTED_FEATURE:
		return fault_say(fault, DECODE_E_UNSUPPORTED, "WebP: an unknown feature");
	default:
		return fault_say(fault, DECODE_E_CORRUPT, "WebP: damaged (status %d)", (int)code);
	}
}

/* The file taken apart, with its size checked; NULL with the fault and `r_out` set. */
static WebPDemuxer *webp_open(const struct codec_input *input, struct codec_header *header,
			      int *r_out, struct fault *fault)
{
	WebPData data = {input->data, input->size};
	WebPDemuxer *demuxer = WebPDemux(&data);
	if (!demuxer) {
		*r_out = fault_say(fault, DECODE_E_CORRUPT, "WebP: damaged or cut short");
		return NULL;
	}
	uint32_t width = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH);
	uint32_t height = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT);
	*r_out = codec_check_size(input, width, height, fault);
	if (*r_out) {
		WebPDemuxDelete(demuxer);
		return NULL;
	}
	*header = (struct codec_header){(int32_t)width, (int32_t)height, 1};
	return demuxer;
}

static unsigned webp_orientation(const WebPDemuxer *demuxer)
{
	WebPChunkIterator chunk;
	if (!WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk))
		return 1;
	unsigned orientation = exif_orientation(chunk.chunk.bytes, chunk.chunk.size);
	WebPDemuxReleaseChunkIterator(&chunk);
	return orientation;
}

static int32_t clamp(int64_t value, int32_t low, int32_t high)
{
	return value < low ? low : value > high ? high : (int32_t)value;
}

/* The part of the canvas that is decoded for `need`: even corners and a margin. */
static struct rect webp_area(const struct codec_header *header, struct rect need)
{
	int32_t left = clamp((int64_t)need.x - MARGIN, 0, header->width) & ~1;
	int32_t top = clamp((int64_t)need.y - MARGIN, 0, header->height) & ~1;
	int32_t right = clamp((int64_t)need.x + need.width + MARGIN, 0, header->width);
	int32_t bottom = clamp((int64_t)need.y + need.height + MARGIN, 0, header->height);
	return (struct rect){left, top, right - left, bottom - top};
}

/* Frames stand at even places, so the part of one is even in its own coordinates, too. */
static int webp_decode(const WebPIterator *frame, const struct image *image, uint8_t *pixels,
		       struct fault *fault)
{
	const struct rect *area = &image->area;
	int32_t left = clamp((int64_t)area->x - frame->x_offset, 0, frame->width);
	int32_t top = clamp((int64_t)area->y - frame->y_offset, 0, frame->height);
	int32_t right = clamp((int64_t)area->x + area->width - frame->x_offset, 0, frame->width);
	int32_t bottom = clamp((int64_t)area->y + area->height - frame->y_offset, 0, frame->height);
	if (left >= right || top >= bottom)
		return 0;

	WebPDecoderConfig config;
	if (!WebPInitDecoderConfig(&config))
		return fault_say(fault, DECODE_E_UNSUPPORTED,
				 "WebP: another libwebp than built for");
	size_t at = (size_t)(frame->y_offset + top - area->y) * image->stride +
		    (size_t)(frame->x_offset + left - area->x) * 3;
	config.options.use_cropping = 1;
	config.options.crop_left = left;
	config.options.crop_top = top;
	config.options.crop_width = right - left;
	config.options.crop_height = bottom - top;
	config.output.colorspace = MODE_RGB;
	config.output.is_external_memory = 1;
	config.output.u.RGBA.rgba = pixels + at;
	config.output.u.RGBA.stride = (int)image->stride;
	config.output.u.RGBA.size = image->stride * (size_t)area->height - at;
	VP8StatusCode code = WebPDecode(frame->fragment.bytes, frame->fragment.size, &config);
	return code == VP8_STATUS_OK ? 0 : webp_fault(fault, code);
}

bool webp_accepts(const uint8_t *data, size_t size)
{
	return size >= 16 && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WEBPVP8", 7) == 0;
}

int webp_begin(const struct codec_input *input, bool exif, struct codec_header *out,
	       struct fault *fault)
{
	int r;
	WebPDemuxer *demuxer = webp_open(input, out, &r, fault);
	if (!demuxer)
		return r;
	if (exif)
		out->orientation = webp_orientation(demuxer);
	WebPDemuxDelete(demuxer);
	return 0;
}

int webp_read(const struct codec_input *input, struct rect need, struct buffer *pixels,
	      struct image *out, struct fault *fault)
{
	struct codec_header header;
	struct image image;
	WebPIterator frame;
	int r;
	WebPDemuxer *demuxer = webp_open(input, &header, &r, fault);
	if (!demuxer)
		return r;
	if (!WebPDemuxGetFrame(demuxer, 1, &frame)) {
		WebPDemuxDelete(demuxer);
		return webp_fault(fault, VP8_STATUS_NOT_ENOUGH_DATA);
	}
	if (codec_room(&header, webp_area(&header, need), pixels, &image) < 0) {
		r = webp_fault(fault, VP8_STATUS_OUT_OF_MEMORY);
	} else {
		if (frame.width < header.width || frame.height < header.height)
			memset(pixels->data, 0, pixels->size);
		r = webp_decode(&frame, &image, pixels->data, fault);
	}
	WebPDemuxReleaseIterator(&frame);
	WebPDemuxDelete(demuxer);
	if (r == 0)
		*out = image;
	return r;
}
