// SPDX-License-Identifier: MIT
#include "decode/tiff_form.h"

#include <stddef.h>
#include <stdio.h>

#include "decode/decode.h"

#define TAG_WINDOWS_MEDIA_PHOTO 0xBC01
#define EXTRASAMPLE_COREL 999 /* alpha, as CorelDRAW 10 has it */
#define FILL_ORDER_PLAIN 1
#define FILL_ORDER_REVERSED 2

/* Further properties and conditions of a form. */
enum {
	INVERTED = 1 << 0,
	SIGNED = 1 << 1,
	ALPHA = 1 << 2,
	PREMULTIPLIED = 1 << 3 | ALPHA,
	LITTLE = 1 << 4,	  /* in little-endian files only */
	REVERSED = 1 << 5,	  /* the bits of its bytes may be in reverse order ... */
	REVERSED_LITTLE = 1 << 6, /* ... in little-endian files */
};

#define NONE (-1) /* no sample behind those of the colours */

/* All that Pillow 13 has of up to 16 bits. `extra`: the kind of the first sample behind those of
 * the colours; others are of no meaning. A fourth sample of RGB of which nothing is said is alpha.
 */
static const struct form_row {
	enum tiff_colours colours;
	uint16_t photometric, bits, samples;
	int16_t extra;
	unsigned flags;
} known[] = {
	{TIFF_GREY, PHOTOMETRIC_MINISWHITE, 1, 1, NONE, INVERTED | REVERSED},
	{TIFF_GREY, PHOTOMETRIC_MINISWHITE, 2, 1, NONE, INVERTED | REVERSED},
	{TIFF_GREY, PHOTOMETRIC_MINISWHITE, 4, 1, NONE, INVERTED | REVERSED},
	{TIFF_GREY, PHOTOMETRIC_MINISWHITE, 8, 1, NONE, INVERTED | REVERSED},
	{TIFF_GREY, PHOTOMETRIC_MINISWHITE, 16, 1, NONE, LITTLE},
	{TIFF_GREY, PHOTOMETRIC_MINISBLACK, 1, 1, NONE, REVERSED},
	{TIFF_GREY, PHOTOMETRIC_MINISBLACK, 2, 1, NONE, REVERSED},
	{TIFF_GREY, PHOTOMETRIC_MINISBLACK, 4, 1, NONE, REVERSED},
	{TIFF_GREY, PHOTOMETRIC_MINISBLACK, 8, 1, NONE, REVERSED},
	{TIFF_GREY, PHOTOMETRIC_MINISBLACK, 8, 1, NONE, SIGNED},
	{TIFF_GREY, PHOTOMETRIC_MINISBLACK, 8, 2, EXTRASAMPLE_UNSPECIFIED, 0},
	{TIFF_GREY, PHOTOMETRIC_MINISBLACK, 8, 2, EXTRASAMPLE_UNASSALPHA, ALPHA},
	{TIFF_GREY, PHOTOMETRIC_MINISBLACK, 12, 1, NONE, LITTLE},
	{TIFF_GREY, PHOTOMETRIC_MINISBLACK, 16, 1, NONE, REVERSED_LITTLE},
	{TIFF_GREY, PHOTOMETRIC_MINISBLACK, 16, 1, NONE, SIGNED},
	{TIFF_RGB, PHOTOMETRIC_RGB, 8, 3, NONE, REVERSED},
	{TIFF_RGB, PHOTOMETRIC_RGB, 8, 4, NONE, ALPHA},
	{TIFF_RGB, PHOTOMETRIC_RGB, 8, 4, EXTRASAMPLE_UNSPECIFIED, 0},
	{TIFF_RGB, PHOTOMETRIC_RGB, 8, 5, EXTRASAMPLE_UNSPECIFIED, 0},
	{TIFF_RGB, PHOTOMETRIC_RGB, 8, 6, EXTRASAMPLE_UNSPECIFIED, 0},
	{TIFF_RGB, PHOTOMETRIC_RGB, 8, 4, EXTRASAMPLE_ASSOCALPHA, PREMULTIPLIED},
	{TIFF_RGB, PHOTOMETRIC_RGB, 8, 5, EXTRASAMPLE_ASSOCALPHA, PREMULTIPLIED},
	{TIFF_RGB, PHOTOMETRIC_RGB, 8, 6, EXTRASAMPLE_ASSOCALPHA, PREMULTIPLIED},
	{TIFF_RGB, PHOTOMETRIC_RGB, 8, 4, EXTRASAMPLE_UNASSALPHA, ALPHA},
	{TIFF_RGB, PHOTOMETRIC_RGB, 8, 5, EXTRASAMPLE_UNASSALPHA, ALPHA},
	{TIFF_RGB, PHOTOMETRIC_RGB, 8, 6, EXTRASAMPLE_UNASSALPHA, ALPHA},
	{TIFF_RGB, PHOTOMETRIC_RGB, 8, 4, EXTRASAMPLE_COREL, ALPHA},
	{TIFF_RGB, PHOTOMETRIC_RGB, 16, 3, NONE, 0},
	{TIFF_RGB, PHOTOMETRIC_RGB, 16, 4, NONE, ALPHA},
	{TIFF_RGB, PHOTOMETRIC_RGB, 16, 4, EXTRASAMPLE_UNSPECIFIED, 0},
	{TIFF_RGB, PHOTOMETRIC_RGB, 16, 4, EXTRASAMPLE_ASSOCALPHA, PREMULTIPLIED},
	{TIFF_RGB, PHOTOMETRIC_RGB, 16, 4, EXTRASAMPLE_UNASSALPHA, ALPHA},
	{TIFF_PALETTE, PHOTOMETRIC_PALETTE, 1, 1, NONE, REVERSED},
	{TIFF_PALETTE, PHOTOMETRIC_PALETTE, 2, 1, NONE, REVERSED},
	{TIFF_PALETTE, PHOTOMETRIC_PALETTE, 4, 1, NONE, REVERSED},
	{TIFF_PALETTE, PHOTOMETRIC_PALETTE, 8, 1, NONE, REVERSED},
	{TIFF_PALETTE, PHOTOMETRIC_PALETTE, 8, 2, EXTRASAMPLE_UNSPECIFIED, 0},
	{TIFF_PALETTE, PHOTOMETRIC_PALETTE, 8, 2, EXTRASAMPLE_UNASSALPHA, ALPHA},
	{TIFF_CMYK, PHOTOMETRIC_SEPARATED, 8, 4, NONE, 0},
	{TIFF_CMYK, PHOTOMETRIC_SEPARATED, 8, 5, EXTRASAMPLE_UNSPECIFIED, 0},
	{TIFF_CMYK, PHOTOMETRIC_SEPARATED, 8, 6, EXTRASAMPLE_UNSPECIFIED, 0},
	{TIFF_CMYK, PHOTOMETRIC_SEPARATED, 16, 4, NONE, 0},
	{TIFF_YCBCR, PHOTOMETRIC_YCBCR, 8, 3, NONE, 0},
};

/* Tags of a page that describe its samples. */
struct page {
	uint16_t photometric, bits, samples, format;
	uint16_t extras; /* samples behind those of the colours, as the file counts them */
	int extra;	 /* the first one's kind, or NONE */
	uint16_t fill_order, compression;
	bool little, separate;
	bool dropped; /* planes of no meaning */
};

static bool page_has_only_nothing(const uint16_t *kinds, uint16_t count, uint16_t from)
{
	for (uint16_t i = from; i < count; i++)
		if (kinds[i] != EXTRASAMPLE_UNSPECIFIED)
			return false;
	return true;
}

/* False if the samples behind those of the colours are of a kind that nobody knows. Where the file
 * says nothing, or what is unknown, libtiff makes something up. */
static bool page_read_extras(struct page *page, const struct tiff_file *source, TIFF *file)
{
	uint16_t *kinds = NULL;
	uint32_t kind;
	page->extra = NONE;
	if (!tiff_file_tag(source, TIFFTAG_EXTRASAMPLES, &kind))
		return true;
	TIFFGetField(file, TIFFTAG_EXTRASAMPLES, &page->extras, &kinds);
	if (page->extras != tiff_file_count(source, TIFFTAG_EXTRASAMPLES) ||
	    (kind > EXTRASAMPLE_UNASSALPHA && kind != EXTRASAMPLE_COREL))
		return false;
	page->extra = (int)kind;
	/* Planes of no meaning behind the others count for nothing. */
	if (page->separate && page->extras < page->samples &&
	    page_has_only_nothing(kinds, page->extras, 0)) {
		page->samples -= page->extras;
		page->extras = 0;
		page->extra = NONE;
		page->dropped = true;
	}
	return page_has_only_nothing(kinds, page->extras, 1);
}

static bool page_read(struct page *page, const struct tiff_file *source, TIFF *file)
{
	uint16_t planar = 0;
	uint32_t fill_order = FILL_ORDER_PLAIN;
	*page = (struct page){.photometric = PHOTOMETRIC_MINISWHITE,
			      .little = !TIFFIsBigEndian(file)};
	TIFFGetField(file, TIFFTAG_PHOTOMETRIC, &page->photometric);
	TIFFGetFieldDefaulted(file, TIFFTAG_BITSPERSAMPLE, &page->bits);
	TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLESPERPIXEL, &page->samples);
	TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLEFORMAT, &page->format);
	TIFFGetFieldDefaulted(file, TIFFTAG_COMPRESSION, &page->compression);
	TIFFGetFieldDefaulted(file, TIFFTAG_PLANARCONFIG, &planar);
	page->separate = planar == PLANARCONFIG_SEPARATE && page->samples > 1;
	if (page->compression == COMPRESSION_OJPEG)
		page->photometric = PHOTOMETRIC_YCBCR;
	/* libtiff passes over a number that it does not know. */
	if (tiff_file_tag(source, TIFFTAG_FILLORDER, &fill_order) && fill_order > UINT16_MAX)
		return false;
	page->fill_order = (uint16_t)fill_order;
	return page_read_extras(page, source, file);
}

/* Count of samples behind those of the colours. */
static uint16_t form_extras(const struct form_row *form)
{
	uint16_t colours = form->colours == TIFF_RGB ? 3 : form->colours == TIFF_CMYK ? 4 : 1;
	return form->extra == NONE ? 0 : (uint16_t)(form->samples - colours);
}

static bool form_fits(const struct form_row *form, const struct page *page)
{
	bool reversed = form->flags & REVERSED || (form->flags & REVERSED_LITTLE && page->little);
	uint16_t format = form->flags & SIGNED ? SAMPLEFORMAT_INT : SAMPLEFORMAT_UINT;
	return form->photometric == page->photometric && form->bits == page->bits &&
	       form->samples == page->samples && form->extra == page->extra &&
	       form_extras(form) == page->extras && format == page->format &&
	       (page->little || !(form->flags & LITTLE)) &&
	       (page->fill_order == FILL_ORDER_PLAIN ||
		(page->fill_order == FILL_ORDER_REVERSED && reversed));
}

/* Check for what Pillow reads: where nothing is compressed it reads the samples itself, and not all
 * that libtiff does. */
static bool page_is_readable(const struct page *page, const struct form_row *form)
{
	bool reversed = page->fill_order == FILL_ORDER_REVERSED;
	bool grey = form->colours == TIFF_GREY && form->bits == 8 && form->flags & INVERTED;
	bool indexed = form->colours == TIFF_PALETTE && form->bits < 8;
	if (page->compression != COMPRESSION_NONE)
		return true;
	if (page->separate && (page->dropped || form->samples == 2 || form->samples > 4 ||
			       (form->flags & PREMULTIPLIED) == PREMULTIPLIED))
		return false;
	return !reversed || (!grey && !indexed);
}

static bool compression_is_known(uint16_t compression)
{
	static const uint16_t all[] = {
		COMPRESSION_NONE,	   COMPRESSION_CCITTRLE, COMPRESSION_CCITTFAX3,
		COMPRESSION_CCITTFAX4,	   COMPRESSION_LZW,	 COMPRESSION_OJPEG,
		COMPRESSION_JPEG,	   COMPRESSION_PACKBITS, COMPRESSION_DEFLATE,
		COMPRESSION_ADOBE_DEFLATE, COMPRESSION_LZMA,	 COMPRESSION_ZSTD,
		COMPRESSION_WEBP,
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (all[i] == compression)
			return TIFFIsCODECConfigured(compression);
	}
	return false;
}

/* Give the form what its page has of it. False if something is missing. */
static bool form_fill(struct tiff_form *form, const struct form_row *row, const struct page *page,
		      TIFF *file)
{
	/* Of planes that are packed Pillow takes a fourth one for that of colours times alpha. */
	bool packed_planes = page->separate && page->compression != COMPRESSION_NONE;
	*form = (struct tiff_form){
		.bits = row->bits,
		.samples = row->samples,
		.colours = row->colours,
		.inverted = row->flags & INVERTED,
		.is_signed = row->flags & SIGNED && row->bits == 16,
		.alpha = row->flags & ALPHA,
		.premultiplied = (row->flags & PREMULTIPLIED) == PREMULTIPLIED ||
				 (row->flags & ALPHA && row->extra == NONE && packed_planes),
		.separate = page->separate && row->samples > 1,
	};
	if (row->colours == TIFF_PALETTE)
		return TIFFGetField(file, TIFFTAG_COLORMAP, &form->palette[0], &form->palette[1],
				    &form->palette[2]);
	if (row->colours != TIFF_YCBCR)
		return true;
	/* Not compressed Pillow reads it itself, as if it were never subsampled. */
	if (page->compression == COMPRESSION_NONE)
		return false;
	if (page->compression == COMPRESSION_JPEG && !page->separate) {
		form->colours = TIFF_RGB; /* by libjpeg */
		return TIFFSetField(file, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
	}
	return true;
}

int tiff_form_read(struct tiff_form *out, const struct tiff_file *source, TIFF *file,
		   struct fault *fault)
{
	struct page page;
	uint32_t photo;
	bool sound = page_read(&page, source, file) &&
		     !tiff_file_tag(source, TAG_WINDOWS_MEDIA_PHOTO, &photo);
	if (!compression_is_known(page.compression))
		return fault_say(fault, DECODE_E_UNSUPPORTED,
				 "TIFF: compression %u is not supported: convert the file",
				 page.compression);
	for (size_t i = 0; sound && i < sizeof(known) / sizeof(*known); i++)
		if (form_fits(&known[i], &page) && page_is_readable(&page, &known[i]) &&
		    form_fill(out, &known[i], &page, file))
			return 0;
	return fault_say(fault, DECODE_E_UNSUPPORTED,
			 "TIFF: %u samples of %u bits (format %u, colours %u, order of bits %u) "
			 "are not supported: convert the file",
			 page.samples, page.bits, page.format, page.photometric, page.fill_order);
}

/* Samples of so many bits, in a format, can be read as wide pixels; as uint16 those that fit. */
static const struct {
	uint16_t bits, format;
	bool fits;
} wide_samples[] = {
	{12, SAMPLEFORMAT_UINT, true},	  {16, SAMPLEFORMAT_UINT, true},
	{16, SAMPLEFORMAT_INT, false},	  {32, SAMPLEFORMAT_UINT, false},
	{32, SAMPLEFORMAT_INT, false},	  {32, SAMPLEFORMAT_IEEEFP, false},
	{64, SAMPLEFORMAT_IEEEFP, false},
};

/* Colours of which each sample is a number of its own. */
static bool page_has_numbers(const struct page *page)
{
	return page->fill_order == FILL_ORDER_PLAIN && (page->bits != 12 || page->samples == 1) &&
	       (page->photometric == PHOTOMETRIC_MINISWHITE ||
		page->photometric == PHOTOMETRIC_MINISBLACK ||
		page->photometric == PHOTOMETRIC_RGB || page->photometric == PHOTOMETRIC_SEPARATED);
}

int tiff_form_read_wide(struct tiff_form *out, const struct codec_input *input, TIFF *file,
			struct fault *fault)
{
	const bool whole = input->form.type == IMAGE_UINT16;
	uint16_t planar = 0;
	char found[80];
	struct page page = {.photometric = PHOTOMETRIC_MINISWHITE};
	TIFFGetField(file, TIFFTAG_PHOTOMETRIC, &page.photometric);
	TIFFGetFieldDefaulted(file, TIFFTAG_BITSPERSAMPLE, &page.bits);
	TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLESPERPIXEL, &page.samples);
	TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLEFORMAT, &page.format);
	TIFFGetFieldDefaulted(file, TIFFTAG_COMPRESSION, &page.compression);
	TIFFGetFieldDefaulted(file, TIFFTAG_FILLORDER, &page.fill_order);
	TIFFGetFieldDefaulted(file, TIFFTAG_PLANARCONFIG, &planar);
	*out = (struct tiff_form){
		.bits = page.bits,
		.samples = page.samples,
		.format = page.format,
		.colours = TIFF_WIDE,
		.separate = planar == PLANARCONFIG_SEPARATE && page.samples > 1,
	};
	if (!compression_is_known(page.compression))
		return fault_say(fault, DECODE_E_UNSUPPORTED,
				 "TIFF: compression %u is not supported: convert it to PNG",
				 page.compression);
	for (size_t i = 0; i < sizeof(wide_samples) / sizeof(*wide_samples); i++)
		if (page_has_numbers(&page) && wide_samples[i].bits == page.bits &&
		    wide_samples[i].format == page.format && (wide_samples[i].fits || !whole))
			return 0;
	snprintf(found, sizeof(found), "%u samples of %u bits (format %u, colours %u)",
		 page.samples, page.bits, page.format, page.photometric);
	return codec_refuse_wide(input, "TIFF", found, fault);
}
