// SPDX-License-Identifier: MIT
/*
 * libwebp cannot be stopped while it decodes, and need not be: its work and its memory are bounded
 * by the pixels of the canvas and the bytes of the file, and both have a limit.
 */
#include "decode/webp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>

#include "decode/exif.h"
#include "decode/limits.h"

#define MARGIN 2 /* columns and rows around the needed part that chroma upsampling reads */

static int webp_fault(struct fault *fault, VP8StatusCode code)
{
	switch (code) {
	case VP8_STATUS_OUT_OF_MEMORY:
		return fault_say(fault, -ENOMEM, "out of memory while decoding");
	case VP8_STATUS_NOT_ENOUGH_DATA:
		return fault_say(fault, DECODE_E_CORRUPT, "WebP: the file is cut short");
	case VP8_STATUS_UNSUPPORTED_FEATURE:
		return fault_say(fault, DECODE_E_UNSUPPORTED,
				 "WebP: the file uses a feature that libwebp does not know: "
				 "convert the file");
	default:
		return fault_say(fault, DECODE_E_CORRUPT, "WebP: damaged (status %d)", (int)code);
	}
}

/* WebPDemux() gives NULL for damage and for lack of memory alike; what it allocates is small. */
static int webp_demux_fault(struct fault *fault)
{
	void *memory = malloc(4096);
	int r = memory ? fault_say(fault, DECODE_E_CORRUPT, "WebP: damaged or cut short")
		       : webp_fault(fault, VP8_STATUS_OUT_OF_MEMORY);
	free(memory);
	return r;
}

/* Newer libwebps refuse the chunk of an extended file that is longer than it has to be. */
static bool webp_is_extended_oddly(const struct codec_input *input)
{
	const uint8_t *chunk = input->data + 12;
	return input->size >= 20 && memcmp(chunk, "VP8X", 4) == 0 &&
	       memcmp(chunk + 4, "\x0a\0\0", 4) != 0;
}

/* Parse the file's chunks and check its size. NULL with `fault` and `r_out` set. */
static WebPDemuxer *webp_open(const struct codec_input *input, struct codec_header *header,
			      int *r_out, struct fault *fault)
{
	WebPData data = {input->data, input->size};
	WebPDemuxer *demuxer = webp_is_extended_oddly(input) ? NULL : WebPDemux(&data);
	if (!demuxer) {
		*r_out = webp_demux_fault(fault);
		return NULL;
	}
	uint32_t width = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH);
	uint32_t height = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT);
	*r_out = limits_check_size(&input->limits, width, height, fault);
	if (*r_out) {
		WebPDemuxDelete(demuxer);
		return NULL;
	}
	bool alpha = WebPDemuxGetI(demuxer, WEBP_FF_FORMAT_FLAGS) & ALPHA_FLAG;
	*header = (struct codec_header){(int32_t)width, (int32_t)height, 1, alpha};
	return demuxer;
}

/* Find a chunk's bytes: they are the file's, and stay when the iterator has gone. */
static const uint8_t *webp_chunk(const WebPDemuxer *demuxer, const char *type, size_t *size_out)
{
	WebPChunkIterator chunk;
	if (!WebPDemuxGetChunk(demuxer, type, 1, &chunk))
		return NULL;
	const uint8_t *bytes = chunk.chunk.bytes;
	*size_out = chunk.chunk.size;
	WebPDemuxReleaseChunkIterator(&chunk);
	return bytes;
}

static unsigned webp_orientation(const WebPDemuxer *demuxer)
{
	struct metadata found = {0};
	found.exif = webp_chunk(demuxer, "EXIF", &found.exif_size);
	found.xmp = webp_chunk(demuxer, "XMP ", &found.xmp_size);
	return metadata_orientation(&found);
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

/* To look for damage: from there to the last row, or, of a frame that may lie beside it, all. */
static struct rect webp_area_to_end(const struct codec_header *header, const WebPIterator *frame,
				    struct rect area)
{
	if (frame->width < header->width || frame->height < header->height)
		return (struct rect){0, 0, header->width, header->height};
	area.height = header->height - area.y;
	return area;
}

/* The alpha of the part of a frame that `config` would crop to. libwebp gives it with the colours,
 * and of a cropped frame it may be another: the whole one is decoded. */
static int webp_decode_alpha(const WebPIterator *frame, WebPDecoderConfig *config, uint8_t *pixels,
			     size_t stride, struct fault *fault)
{
	const WebPDecoderOptions part = config->options;
	const WebPRGBABuffer *rgba = &config->output.u.RGBA;
	config->options.use_cropping = 0;
	config->output.colorspace = MODE_RGBA;
	VP8StatusCode code = WebPDecode(frame->fragment.bytes, frame->fragment.size, config);
	for (int y = 0; code == VP8_STATUS_OK && y < part.crop_height; y++) {
		const uint8_t *from = rgba->rgba + (part.crop_top + y) * (ptrdiff_t)rgba->stride;
		for (int x = 0; x < part.crop_width; x++)
			memset(pixels + (size_t)y * stride + 3 * (size_t)x,
			       from[4 * (part.crop_left + x) + 3], 3);
	}
	WebPFreeDecBuffer(&config->output);
	return code == VP8_STATUS_OK ? 0 : webp_fault(fault, code);
}

/* A frame's offset is even, so an even corner of the canvas is even in the frame, too. */
static int webp_decode(const WebPIterator *frame, const struct image *image, uint8_t *pixels,
		       bool alpha, struct fault *fault)
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
				 "WebP: the installed libwebp is not compatible with the "
				 "one that stoker was built with: rebuild stoker");
	size_t at = (size_t)(frame->y_offset + top - area->y) * image->stride +
		    (size_t)(frame->x_offset + left - area->x) * 3;
	config.options.use_cropping = 1;
	config.options.crop_left = left;
	config.options.crop_top = top;
	config.options.crop_width = right - left;
	config.options.crop_height = bottom - top;
	if (alpha)
		return webp_decode_alpha(frame, &config, pixels + at, image->stride, fault);
	config.output.colorspace = MODE_RGB;
	config.output.is_external_memory = 1;
	config.output.u.RGBA.rgba = pixels + at;
	config.output.u.RGBA.stride = (int)image->stride;
	config.output.u.RGBA.size = image->stride * (size_t)area->height - at;
	VP8StatusCode code = WebPDecode(frame->fragment.bytes, frame->fragment.size, &config);
	return code == VP8_STATUS_OK ? 0 : webp_fault(fault, code);
}

static bool webp_accepts(const uint8_t *data, size_t size)
{
	return size >= 16 && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WEBPVP8", 7) == 0;
}

static int webp_begin(void *state, const struct codec_input *input, struct codec_header *out,
		      struct fault *fault)
{
	struct codec_header header;
	int r;
	(void)state;
	WebPDemuxer *demuxer = webp_open(input, &header, &r, fault);
	if (!demuxer)
		return r;
	if (input->exif)
		header.orientation = webp_orientation(demuxer);
	WebPDemuxDelete(demuxer);
	*out = header;
	return 0;
}

static int webp_read(void *state, const struct codec_input *input, struct rect need,
		     struct buffer *pixels, struct image *out, struct fault *fault)
{
	struct codec_header header;
	struct image image;
	WebPIterator frame;
	int r;
	(void)state;
	WebPDemuxer *demuxer = webp_open(input, &header, &r, fault);
	if (!demuxer)
		return r;
	if (!WebPDemuxGetFrame(demuxer, 1, &frame)) {
		WebPDemuxDelete(demuxer);
		return webp_fault(fault, VP8_STATUS_NOT_ENOUGH_DATA);
	}
	struct rect area = webp_area(&header, need);
	if (!input->sound)
		area = webp_area_to_end(&header, &frame, area);
	if (codec_reserve(&header, area, pixels, &image) < 0) {
		r = webp_fault(fault, VP8_STATUS_OUT_OF_MEMORY);
	} else {
		if (frame.width < header.width || frame.height < header.height)
			memset(pixels->data, 0, pixels->size);
		r = webp_decode(&frame, &image, pixels->data, input->alpha, fault);
	}
	WebPDemuxReleaseIterator(&frame);
	WebPDemuxDelete(demuxer);
	if (r == 0)
		*out = image;
	return r;
}

const struct codec codec_webp = {
	.name = "WebP",
	.accepts = webp_accepts,
	.begin = webp_begin,
	.read = webp_read,
};
