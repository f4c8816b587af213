// SPDX-License-Identifier: MIT
/*
 * P1 to P6, as Pillow reads them: samples are scaled from 0..maxval to 0..255 and rounded half to
 * even, but grey above 8 bits becomes 0..65535 and is cut at 255. A binary file is read where the
 * needed rows lie; a plain one from its beginning, since its numbers have no fixed width.
 */
#include "decode/netpbm.h"

#include <math.h>
#include <string.h>

#include "decode/limits.h"

#define TOKEN_MAX 10		      /* digits of a number */
#define SAMPLES_MAX 3		      /* of a pixel */
#define PIECE_BYTES ((size_t)1 << 20) /* that Pillow reads at a time */
#define ROWS_A_CHECK 64		      /* of the deadline */

struct netpbm {
	char kind; /* '1' to '6' */
	int32_t width, height;
	unsigned maxval;	 /* 1 to 65535; of a bitmap 1 */
	unsigned samples;	 /* of a pixel: 1 or 3 */
	const uint8_t *at, *end; /* what has not been read */
	const uint8_t *first;	 /* of the pixels */
	bool mask;		 /* numbers are asked for */
	struct image_form form;	 /* wide pixels are */
};

static bool is_space(uint8_t byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static bool is_plain(const struct netpbm *image)
{
	return image->kind <= '3';
}

static bool is_bitmap(const struct netpbm *image)
{
	return image->kind == '1' || image->kind == '4';
}

static int netpbm_cut(struct fault *fault)
{
	return fault_say(fault, DECODE_E_CORRUPT, "PNM: the file is cut short");
}

/* The next byte that is in no comment, or -1 at the end. A comment takes its line's end along. */
static int next_byte(struct netpbm *image)
{
	while (image->at < image->end && *image->at == '#') {
		while (image->at < image->end && *image->at != '\n' && *image->at != '\r')
			image->at++;
		if (image->at < image->end)
			image->at++;
	}
	return image->at < image->end ? *image->at++ : -1;
}

static int netpbm_no_number(const struct netpbm *image, struct fault *fault)
{
	return fault_say(fault, DECODE_E_CORRUPT,
			 "PNM: a number was expected at byte %lld from the end",
			 (long long)(image->end - image->at) + 1);
}

/* A number and the one white space behind it. */
static int next_number(struct netpbm *image, unsigned long long max, unsigned long long *out,
		       struct fault *fault)
{
	unsigned long long value = 0;
	unsigned length = 0;
	int byte = next_byte(image), last = ' ';
	while (byte >= 0 && is_space((uint8_t)byte))
		byte = next_byte(image);
	if (byte < 0)
		return netpbm_cut(fault);
	/* As Python writes them: a sign before the digits, and lines between these. */
	for (; byte >= 0 && !is_space((uint8_t)byte); byte = next_byte(image)) {
		bool digit = byte >= '0' && byte <= '9';
		bool mark =
			(byte == '+' && last == ' ') || (byte == '_' && last >= '0' && last <= '9');
		if ((!digit && !mark) || ++length > TOKEN_MAX)
			return netpbm_no_number(image, fault);
		value = digit ? value * 10 + (unsigned)(byte - '0') : value;
		last = byte;
	}
	if (last < '0' || last > '9')
		return netpbm_no_number(image, fault);
	if (value > max)
		return fault_say(fault, DECODE_E_CORRUPT, "PNM: %llu where at most %llu can be",
				 value, max);
	*out = value;
	return 0;
}

static size_t row_bytes(const struct netpbm *image)
{
	if (is_bitmap(image))
		return ((size_t)image->width + 7) / 8;
	return (size_t)image->width * image->samples * (image->maxval > 255 ? 2 : 1);
}

static int netpbm_open(const struct codec_input *input, struct netpbm *image, struct fault *fault)
{
	unsigned long long width, height, maxval = 1;
	*image = (struct netpbm){.kind = (char)input->data[1],
				 .at = input->data + 3,
				 .mask = input->mask,
				 .form = input->form,
				 .end = input->data + input->size};
	image->samples = image->kind == '3' || image->kind == '6' ? 3 : 1;
	int r = next_number(image, UINT32_MAX, &width, fault);
	if (r == 0)
		r = next_number(image, UINT32_MAX, &height, fault);
	if (r == 0)
		r = limits_check_size(&input->limits, width, height, fault);
	if (r == 0 && !is_bitmap(image))
		r = next_number(image, 65535, &maxval, fault);
	if (r)
		return r;
	if (maxval == 0)
		return fault_say(fault, DECODE_E_CORRUPT, "PNM: the largest value is 0");
	image->first = image->at;
	image->width = (int32_t)width;
	image->height = (int32_t)height;
	image->maxval = (unsigned)maxval;
	if (!is_plain(image) &&
	    (size_t)(image->end - image->at) / row_bytes(image) < (size_t)height)
		return netpbm_cut(fault);
	return 0;
}

/* As Pillow: in double precision, half to even; of 16 bits a value above maxval is the largest. */
static double scale_sample(const struct netpbm *image, unsigned value)
{
	bool wide = image->maxval > 255 && (image->samples == 1 || image->form.type);
	double most = wide ? 65535.0 : image->mask && is_bitmap(image) ? 1.0 : 255.0;
	double scaled = nearbyint((double)value / image->maxval * most);
	return wide && scaled > most ? most : scaled;
}

/* Put a pixel; colours of more than 8 bits are no number of a mask: Pillow has another one than is
 * stored. */
static void put_pixel(const struct netpbm *image, const unsigned *values, uint8_t *out)
{
	bool fits = image->samples == 1 || image->maxval <= 255;
	for (unsigned i = 0; image->form.type && i < image->samples; i++)
		codec_put(image->form.type, out, i, (float)scale_sample(image, values[i]));
	if (image->form.type)
		return;
	if (image->mask && image->samples == 1) {
		codec_put_number(out, (uint16_t)scale_sample(image, values[0]));
		return;
	}
	for (unsigned i = 0; i < 3; i++) {
		double scaled = scale_sample(image, values[image->samples == 1 ? 0 : i]);
		fits = fits && scaled <= 255.0;
		out[i] = scaled > 255.0 ? 255 : (uint8_t)scaled;
	}
	if (image->mask && !fits)
		codec_put_none(out);
}

/* --- binary --- */

static void bitmap_row(const struct netpbm *image, const uint8_t *row, struct rect need,
		       uint8_t *out)
{
	for (int32_t i = 0; i < need.width; i++) {
		int32_t x = need.x + i;
		bool black = row[x >> 3] >> (7 - (x & 7)) & 1;
		memset(out + (size_t)i * 3, black ? 0 : image->mask ? 1 : 255, 3);
	}
}

/* The usual depth: nothing is scaled. */
static void byte_row(const struct netpbm *image, const uint8_t *row, size_t count, uint8_t *out)
{
	if (image->samples == 3) {
		memcpy(out, row, count * 3);
		return;
	}
	for (size_t i = 0; i < count; i++)
		memset(out + i * 3, row[i], 3);
}

static void binary_row(const struct netpbm *image, const uint8_t *row, struct rect need,
		       uint8_t *out)
{
	size_t bytes = image->maxval > 255 ? 2 : 1;
	row += (size_t)need.x * image->samples * bytes;
	if (image->maxval == 255) {
		byte_row(image, row, (size_t)need.width, out);
		return;
	}
	const size_t step = image_pixel_bytes(image->form);
	for (int32_t x = 0; x < need.width; x++, out += step) {
		unsigned values[SAMPLES_MAX];
		for (unsigned i = 0; i < image->samples; i++, row += bytes)
			values[i] = bytes == 2 ? (unsigned)row[0] << 8 | row[1] : *row;
		put_pixel(image, values, out);
	}
}

static int read_binary(const struct netpbm *image, const struct codec_input *input,
		       const struct image *out, uint8_t *pixels, struct fault *fault)
{
	struct rect need = out->area;
	for (int32_t y = 0; y < need.height; y++) {
		const uint8_t *row = image->at + row_bytes(image) * (size_t)(need.y + y);
		if (is_bitmap(image))
			bitmap_row(image, row, need, pixels + out->stride * (size_t)y);
		else
			binary_row(image, row, need, pixels + out->stride * (size_t)y);
		int r = y % ROWS_A_CHECK
				? 0
				: limits_check_time(&input->limits, input->start_ns, fault);
		if (r)
			return r;
	}
	return 0;
}

/* --- plain --- */

static int netpbm_no_bit(struct fault *fault)
{
	return fault_say(fault, DECODE_E_CORRUPT, "PNM: a bit that is neither 0 nor 1");
}

static int next_bit(struct netpbm *image, unsigned long long *out, struct fault *fault)
{
	int byte = next_byte(image);
	while (byte >= 0 && is_space((uint8_t)byte))
		byte = next_byte(image);
	if (byte < 0)
		return netpbm_cut(fault);
	if (byte != '0' && byte != '1')
		return netpbm_no_bit(fault);
	*out = byte == '0';
	return 0;
}

static int plain_pixel(struct netpbm *image, uint8_t *out, struct fault *fault)
{
	unsigned values[SAMPLES_MAX];
	for (unsigned i = 0; i < image->samples; i++) {
		unsigned long long value;
		int r = is_bitmap(image) ? next_bit(image, &value, fault)
					 : next_number(image, image->maxval, &value, fault);
		if (r)
			return r;
		values[i] = (unsigned)value;
	}
	put_pixel(image, values, out);
	return 0;
}

/* Pillow reads bits in pieces, and looks at all of a piece. */
static int check_piece(struct netpbm *image, struct fault *fault)
{
	size_t used = (size_t)(image->at - image->first), left = (size_t)(image->end - image->at);
	size_t rest = (PIECE_BYTES - used % PIECE_BYTES) % PIECE_BYTES;
	image->end = image->at + (rest < left ? rest : left);
	for (int byte = next_byte(image); byte >= 0; byte = next_byte(image))
		if (byte != '0' && byte != '1' && !is_space((uint8_t)byte))
			return netpbm_no_bit(fault);
	return 0;
}

static int read_plain(struct netpbm *image, const struct codec_input *input,
		      const struct image *out, uint8_t *pixels, struct fault *fault)
{
	struct rect need = out->area;
	int32_t bottom = input->sound ? need.y + need.height : image->height;
	const size_t bytes = image_pixel_bytes(image->form);
	for (int32_t y = 0; y < bottom; y++) {
		int r = y % ROWS_A_CHECK
				? 0
				: limits_check_time(&input->limits, input->start_ns, fault);
		for (int32_t x = 0; r == 0 && x < image->width; x++) {
			_Alignas(float) uint8_t pixel[SAMPLES_MAX * sizeof(float)];
			r = plain_pixel(image, pixel, fault);
			if (r == 0 && y >= need.y && y < need.y + need.height && x >= need.x &&
			    x < need.x + need.width)
				memcpy(pixels + out->stride * (size_t)(y - need.y) +
					       (size_t)(x - need.x) * bytes,
				       pixel, bytes);
		}
		if (r)
			return r;
	}
	return is_bitmap(image) && !input->sound ? check_piece(image, fault) : 0;
}

/* --- the codec --- */

static bool netpbm_accepts(const uint8_t *data, size_t size)
{
	return size >= 3 && data[0] == 'P' && data[1] >= '1' && data[1] <= '6' && is_space(data[2]);
}

static int netpbm_begin(void *state, const struct codec_input *input, struct codec_header *out,
			struct fault *fault)
{
	struct netpbm image;
	(void)state;
	int r = netpbm_open(input, &image, fault);
	if (r == 0 && input->form.type && image.maxval <= 255)
		return codec_refuse_wide(input, "PNM", "8 bits a sample or less", fault);
	if (r == 0)
		*out = (struct codec_header){.width = image.width,
					     .height = image.height,
					     .orientation = 1,
					     .clips = image.samples == 1 && image.maxval > 255};
	if (r == 0 && input->form.type)
		out->form = (struct image_form){input->form.type, image.samples};
	return r;
}

static int netpbm_read(void *state, const struct codec_input *input, struct rect need,
		       struct buffer *pixels, struct image *out, struct fault *fault)
{
	struct netpbm image;
	struct image shown;
	(void)state;
	int r = netpbm_open(input, &image, fault);
	if (r)
		return r;
	struct codec_header header = {
		.width = image.width, .height = image.height, .form = input->form};
	r = codec_reserve(&header, need, pixels, &shown);
	if (r < 0)
		return fault_say(fault, r, "out of memory while decoding");
	r = is_plain(&image) ? read_plain(&image, input, &shown, pixels->data, fault)
			     : read_binary(&image, input, &shown, pixels->data, fault);
	if (r == 0)
		*out = shown;
	return r;
}

const struct codec codec_netpbm = {
	.name = "PNM",
	.wide = true,
	.accepts = netpbm_accepts,
	.begin = netpbm_begin,
	.read = netpbm_read,
};
