// SPDX-License-Identifier: MIT
/*
 * AVIF by libavif, as Pillow asks it: the first frame, as 8 bits of RGB, with the checks that
 * Pillow leaves out left out. The whole frame is decoded, whichever part is asked for.
 *
 * libavif cannot be stopped within a frame. Its work and its memory are bounded by the pixels, for
 * which what the container says and what the AV1 stream says have the same limit, and by the bytes
 * of the file. It decodes on the caller's thread.
 */
#include "decode/avif.h"

#include <errno.h>
#include <string.h>

#include <avif/avif.h>

#include "decode/arena.h"
#include "decode/exif.h"
#include "decode/foreign.h"
#include "decode/limits.h"

/* --- header --- */

static int avif_no_memory(struct fault *fault)
{
	return fault_say(fault, -ENOMEM, "out of memory while decoding");
}

static int avif_fault(const avifDecoder *decoder, avifResult result, struct fault *fault)
{
	switch (result) {
	case AVIF_RESULT_OUT_OF_MEMORY:
		return avif_no_memory(fault);
	case AVIF_RESULT_NO_CODEC_AVAILABLE:
	case AVIF_RESULT_NOT_IMPLEMENTED:
	case AVIF_RESULT_UNSUPPORTED_DEPTH:
		return fault_say(fault, DECODE_E_UNSUPPORTED,
				 "AVIF: the file uses a feature that libavif does not know: "
				 "convert the file");
	default:
		return fault_say(fault, DECODE_E_CORRUPT, "AVIF: damaged or cut short: %s%s%s",
				 avifResultToString(result), decoder->diag.error[0] ? ": " : "",
				 decoder->diag.error);
	}
}

static unsigned avif_container_orientation(const avifImage *image)
{
	static const uint8_t turned[4] = {1, 8, 3, 6};
	static const uint8_t mirrored[2][4] = {{4, 5, 2, 7}, {2, 7, 4, 5}};
	unsigned angle = image->transformFlags & AVIF_TRANSFORM_IROT ? image->irot.angle & 3u : 0;
	if (!(image->transformFlags & AVIF_TRANSFORM_IMIR))
		return turned[angle];
#if AVIF_VERSION >= 1000000
	return mirrored[image->imir.axis & 1][angle];
#else
	return mirrored[image->imir.mode & 1][angle];
#endif
}

/* Pillow shows the orientation of the container as that of EXIF, whose own does not count. That of
 * XMP does if neither has any. */
static unsigned avif_orientation(const avifImage *image)
{
	struct metadata found = {image->exif.data, image->exif.size, image->xmp.data,
				 image->xmp.size};
	unsigned orientation = avif_container_orientation(image);
	if (orientation != 1 || metadata_has_exif_orientation(&found))
		return orientation;
	return metadata_orientation(&found);
}

/* No more pixels within the AV1 stream, either. libavif takes no higher limit than its own. */
static uint32_t avif_pixels_max(const struct decode_limits *limits)
{
	return limits->max_pixels < AVIF_DEFAULT_IMAGE_SIZE_LIMIT ? (uint32_t)limits->max_pixels
								  : AVIF_DEFAULT_IMAGE_SIZE_LIMIT;
}

static int avif_parse(avifDecoder *decoder, const struct codec_input *input,
		      struct codec_header *out, struct fault *fault)
{
	decoder->strictFlags &= ~(avifStrictFlags)AVIF_STRICT_CLAP_VALID;
	decoder->strictFlags &= ~(avifStrictFlags)AVIF_STRICT_PIXI_REQUIRED;
	decoder->imageSizeLimit = avif_pixels_max(&input->limits);
	avifResult result = avifDecoderSetIOMemory(decoder, input->data, input->size);
	if (result == AVIF_RESULT_OK)
		result = avifDecoderParse(decoder);
	if (result != AVIF_RESULT_OK)
		return avif_fault(decoder, result, fault);
	const avifImage *image = decoder->image;
	int r = limits_check_size(&input->limits, image->width, image->height, fault);
	if (r)
		return r;
	*out = (struct codec_header){(int32_t)image->width, (int32_t)image->height,
				     input->exif ? avif_orientation(image) : 1,
				     decoder->alphaPresent};
	return 0;
}

/* --- pixels --- */

static void plane_to_8_bits(const avifImage *deep, const uint8_t *from, uint32_t from_stride,
			    uint8_t *to, uint32_t to_stride, uint32_t width, uint32_t height)
{
	unsigned shift = deep->depth - 8;
	for (uint32_t y = 0; y < height; y++) {
		const uint16_t *row =
			(const uint16_t *)(const void *)(from + (size_t)y * from_stride);
		for (uint32_t x = 0; x < width; x++)
			to[(size_t)y * to_stride + x] = (uint8_t)(row[x] >> shift);
	}
}

/*
 * Drop the lower bits of a deeper image, where newer libavifs do that before they convert it: 0.11
 * is exact there instead, and so up to six levels away from Pillow. Freed by the caller.
 */
static avifImage *avif_to_8_bits(const avifImage *deep)
{
	avifPixelFormatInfo format;
	avifGetPixelFormatInfo(deep->yuvFormat, &format);
	avifImage *image = avifImageCreate(deep->width, deep->height, 8, deep->yuvFormat);
	if (!image)
		return NULL;
	image->yuvRange = deep->yuvRange;
	image->yuvChromaSamplePosition = deep->yuvChromaSamplePosition;
	image->colorPrimaries = deep->colorPrimaries;
	image->transferCharacteristics = deep->transferCharacteristics;
	image->matrixCoefficients = deep->matrixCoefficients;
	image->alphaPremultiplied = deep->alphaPremultiplied;
	avifPlanesFlags planes = AVIF_PLANES_YUV | (deep->alphaPlane ? AVIF_PLANES_A : 0u);
	if (avifImageAllocatePlanes(image, planes) != AVIF_RESULT_OK) {
		avifImageDestroy(image);
		return NULL;
	}
	for (int i = 0; i < AVIF_PLANE_COUNT_YUV && deep->yuvPlanes[i]; i++) {
		unsigned across = i ? (unsigned)format.chromaShiftX : 0;
		unsigned down = i ? (unsigned)format.chromaShiftY : 0;
		plane_to_8_bits(deep, deep->yuvPlanes[i], deep->yuvRowBytes[i], image->yuvPlanes[i],
				image->yuvRowBytes[i], (deep->width + across) >> across,
				(deep->height + down) >> down);
	}
	if (deep->alphaPlane)
		plane_to_8_bits(deep, deep->alphaPlane, deep->alphaRowBytes, image->alphaPlane,
				image->alphaRowBytes, deep->width, deep->height);
	return image;
}

/* Check for the matrices that libyuv converts; pictures of others have all their bits until then.
 */
static bool avif_is_for_libyuv(const avifImage *image)
{
	switch (image->matrixCoefficients) {
	case AVIF_MATRIX_COEFFICIENTS_BT709:
	case AVIF_MATRIX_COEFFICIENTS_UNSPECIFIED:
	case AVIF_MATRIX_COEFFICIENTS_BT470BG:
	case AVIF_MATRIX_COEFFICIENTS_BT601:
	case AVIF_MATRIX_COEFFICIENTS_BT2020_NCL:
		return true;
	case AVIF_MATRIX_COEFFICIENTS_CHROMA_DERIVED_NCL:
		return image->colorPrimaries == AVIF_COLOR_PRIMARIES_BT709 ||
		       image->colorPrimaries == AVIF_COLOR_PRIMARIES_UNSPECIFIED ||
		       image->colorPrimaries == AVIF_COLOR_PRIMARIES_BT470BG ||
		       image->colorPrimaries == AVIF_COLOR_PRIMARIES_BT601 ||
		       image->colorPrimaries == AVIF_COLOR_PRIMARIES_BT2020;
	default:
		return false;
	}
}

/* All versions convert these as they are. */
static bool avif_converts_deep(const avifImage *image, avifRGBFormat format)
{
	bool grey = image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400;
	if (!avif_is_for_libyuv(image))
		return true;
	if (format == AVIF_RGB_FORMAT_RGB)
		return grey;
	return !grey && (image->depth == 10 || image->yuvFormat == AVIF_PIXEL_FORMAT_YUV420);
}

/* Newer libavifs take grey without a matrix, and a number that is reserved, as that of BT.601. */
static void avif_mend_matrix(avifImage *image)
{
	bool grey = image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400;
	if (grey && image->matrixCoefficients == AVIF_MATRIX_COEFFICIENTS_IDENTITY)
		image->matrixCoefficients = AVIF_MATRIX_COEFFICIENTS_BT601;
}

static int avif_convert(const avifDecoder *decoder, avifRGBFormat format, uint8_t *pixels,
			size_t stride, struct fault *fault)
{
	const avifImage *image = decoder->image;
	avifImage *shallow = NULL;
	avifRGBImage rgb;
	memset(&rgb, 0, sizeof(rgb));
	if (image->depth > 8 && !avif_converts_deep(image, format)) {
		shallow = avif_to_8_bits(image);
		if (!shallow)
			return avif_no_memory(fault);
		image = shallow;
	}
	avifRGBImageSetDefaults(&rgb, image);
	rgb.depth = 8;
	rgb.format = format;
	rgb.pixels = pixels;
	rgb.rowBytes = (uint32_t)stride;
	avifResult result = avifImageYUVToRGB(image, &rgb);
	if (shallow)
		avifImageDestroy(shallow);
	return result == AVIF_RESULT_OK ? 0 : avif_fault(decoder, result, fault);
}

/* Convert a picture with alpha as Pillow does: to RGBA, then drop what is not wanted; converted
 * without alpha the colours would be darker. */
static int avif_convert_alpha(const avifDecoder *decoder, const struct codec_input *input,
			      const struct image *image, uint8_t *pixels, struct fault *fault)
{
	size_t count = (size_t)image->width * (size_t)image->height;
	arena_reset(input->arena);
	uint8_t *rgba = arena_take(input->arena, count * 4);
	int r = rgba ? avif_convert(decoder, AVIF_RGB_FORMAT_RGBA, rgba, (size_t)image->width * 4,
				    fault)
		     : avif_no_memory(fault);
	for (size_t i = 0; i < count && !r; i++) {
		if (input->alpha)
			memset(pixels + i * 3, rgba[i * 4 + 3], 3);
		else
			memcpy(pixels + i * 3, rgba + i * 4, 3);
	}
	return r;
}

static int avif_decode(avifDecoder *decoder, const struct codec_input *input, struct buffer *pixels,
		       struct image *out, struct fault *fault)
{
	struct codec_header header;
	struct image image;
	int r = avif_parse(decoder, input, &header, fault);
	if (!r)
		r = limits_check_time(&input->limits, input->start_ns, fault);
	if (r)
		return r;
	avifResult result = avifDecoderNthImage(decoder, 0);
	if (result != AVIF_RESULT_OK)
		return avif_fault(decoder, result, fault);
	if (input->mask && decoder->image->depth > 8)
		return fault_say(fault, DECODE_E_UNSUPPORTED,
				 "AVIF: a mask of %u bits, which do not fit into uint8: store its "
				 "classes in 8 bits",
				 decoder->image->depth);
	/* The AV1 stream may say another size than the container. */
	if (decoder->image->width != (uint32_t)header.width ||
	    decoder->image->height != (uint32_t)header.height)
		return avif_fault(decoder, AVIF_RESULT_ISPE_SIZE_MISMATCH, fault);
	avif_mend_matrix(decoder->image);
	struct rect whole = {0, 0, header.width, header.height};
	if (codec_reserve(&header, whole, pixels, &image) < 0)
		return avif_no_memory(fault);
	r = header.alpha
		    ? avif_convert_alpha(decoder, input, &image, pixels->data, fault)
		    : avif_convert(decoder, AVIF_RGB_FORMAT_RGB, pixels->data, image.stride, fault);
	if (r == 0)
		*out = image;
	return r;
}

/* --- the codec --- */

static bool avif_accepts(const uint8_t *data, size_t size)
{
	const char *name = foreign_name(data, size);
	return name && strcmp(name, "AVIF") == 0;
}

static int avif_begin(void *state, const struct codec_input *input, struct codec_header *out,
		      struct fault *fault)
{
	(void)state;
	avifDecoder *decoder = avifDecoderCreate();
	if (!decoder)
		return avif_no_memory(fault);
	int r = avif_parse(decoder, input, out, fault);
	avifDecoderDestroy(decoder);
	return r;
}

static int avif_read(void *state, const struct codec_input *input, struct rect need,
		     struct buffer *pixels, struct image *out, struct fault *fault)
{
	(void)state;
	(void)need;
	avifDecoder *decoder = avifDecoderCreate();
	if (!decoder)
		return avif_no_memory(fault);
	int r = avif_decode(decoder, input, pixels, out, fault);
	avifDecoderDestroy(decoder);
	return r;
}

const struct codec codec_avif = {
	.name = "AVIF",
	.accepts = avif_accepts,
	.begin = avif_begin,
	.read = avif_read,
};
