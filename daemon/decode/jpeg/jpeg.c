// SPDX-License-Identifier: MIT
/*
 * libjpeg reports an error by calling error_exit(), which must not return: it jumps to the setjmp
 * in jpeg_run(), the only one. The functions step_...() run under that setjmp; what outlives them
 * is in struct jpeg, since locals that change are undefined after a jump.
 */
#include "decode/jpeg/jpeg.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs it */
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "base/quote.h"
#include "decode/cmyk.h"
#include "decode/jpeg/indexed_decode.h"
#include "decode/jpeg/jpeg_library.h"
#include "decode/jpeg/jpeg_pools.h"
#include "decode/jpeg/jpeg_rules.h"
#include "decode/jpeg/marker.h"
#include "decode/jpeg/rewrite.h"
#include "decode/limits.h"

#define ROWS 16		   /* rows handed to the library at a time */
#define SKIP_ROWS 1024	   /* rows skipped between two checks of the time */
#define PILLOW_BYTES 65536 /* Pillow hands so many to libjpeg at a time */
#define MONITOR_CALLS 64   /* calls of the monitor for each check of the time */
#define EXIF_BYTES 65533   /* the most that one marker can hold */
#define REWRITE_ROOM 65536 /* for a rewritten file, beside twice its size */

struct jpeg {
	struct jpeg_decompress_struct cinfo;
	struct jpeg_decompress_struct fresh; /* as jpeg_create_decompress() left it */
	struct jpeg_pools pools;
	struct jpeg_error_mgr error;
	struct jpeg_source_mgr source;
	struct jpeg_progress_mgr progress;
	jmp_buf back;
	int condition; /* why jpeg_leave() jumped, with words in `fault`; 0: libjpeg jumped */
	struct fault *fault;
	unsigned monitored;
	bool made;  /* cinfo exists */
	bool ready; /* ... and the image's header has just been read */
	const struct codec_input *input;
	struct codec_header stored;
	struct codec_header header; /* at the scale of the part being read */
	struct buffer cmyk;	    /* rows to be converted to RGB */
	struct indexed_decode *indexed;
	struct rewrite rewrite;
	/* of the part being read */
	struct rect need;
	struct buffer *pixels;
	struct image image;
};

/* --- callbacks of libjpeg --- */

static struct jpeg *jpeg_of(j_common_ptr cinfo)
{
	return cinfo->client_data;
}

static void on_error(j_common_ptr cinfo)
{
	longjmp(jpeg_of(cinfo)->back, 1);
}

/* Warnings are counted by libjpeg's default emit_message() and ignored, as Pillow does. */
static void on_message(j_common_ptr cinfo)
{
	(void)cinfo;
}

static _Noreturn void jpeg_leave(struct jpeg *jpeg, int condition)
{
	jpeg->condition = condition;
	longjmp(jpeg->back, 1);
}

static _Noreturn void jpeg_leave_scans(struct jpeg *jpeg)
{
	jpeg_leave(jpeg, fault_say(jpeg->fault, DECODE_E_LIMIT,
				   "JPEG: more than %u scans, which is the limit",
				   jpeg->input->limits.max_scans));
}

static void jpeg_check_time(struct jpeg *jpeg)
{
	int r = limits_check_time(&jpeg->input->limits, jpeg->input->start_ns, jpeg->fault);
	if (r)
		jpeg_leave(jpeg, r);
}

/* Progress monitor: the only way to stop a file of many scans within jpeg_start_decompress(). */
static void on_progress(j_common_ptr common)
{
	struct jpeg *jpeg = jpeg_of(common);
	unsigned limit = jpeg->input->limits.max_scans;
	if ((unsigned)jpeg->cinfo.input_scan_number > limit)
		jpeg_leave_scans(jpeg);
	if (++jpeg->monitored % MONITOR_CALLS == 0)
		jpeg_check_time(jpeg);
}

/* --- calling libjpeg --- */

/* Forget what has been read of the image and free its memory. */
static void jpeg_reset(struct jpeg *jpeg)
{
	rewrite_deinit(&jpeg->rewrite);
	jpeg_pools_reset(&jpeg->pools);
	jpeg->ready = false;
}

static int jpeg_failed(struct jpeg *jpeg)
{
	int r = jpeg->condition;
	if (r == 0) {
		char text[JMSG_LENGTH_MAX];
		jpeg->error.format_message((j_common_ptr)&jpeg->cinfo, text);
		r = jpeg_condition(jpeg->error.msg_code);
		fault_say(jpeg->fault, r, "JPEG: %s", text);
	}
	jpeg_reset(jpeg);
	return r;
}

static int jpeg_run(struct jpeg *jpeg, void (*step)(struct jpeg *jpeg), struct fault *fault)
{
	jpeg->condition = 0;
	jpeg->fault = fault;
	if (setjmp(jpeg->back))
		return jpeg_failed(jpeg);
	step(jpeg);
	return 0;
}

static _Noreturn void jpeg_cut_short(struct jpeg *jpeg)
{
	jpeg_leave(jpeg, fault_say(jpeg->fault, DECODE_E_CORRUPT,
				   "JPEG: the file is cut short after %s bytes",
				   quote_number(jpeg->input->size).text));
}

/* --- the header and its limits --- */

/* Create libjpeg's object; its memory comes from libjpeg's own memory manager, once. */
static void jpeg_make(struct jpeg *jpeg)
{
	struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
	cinfo->err = jpeg_std_error(&jpeg->error);
	jpeg->error.error_exit = on_error;
	jpeg->error.output_message = on_message;
	cinfo->client_data = jpeg;
	jpeg_destroy_decompress(cinfo); /* of an attempt that ran out of memory */
	jpeg_create_decompress(cinfo);
	jpeg->fresh = *cinfo;
	jpeg->made = true;
}

/*
 * A fresh object for every image: libjpeg keeps the tables of an image for the next one, and a file
 * without tables would be decoded with those of the file that this worker decoded before.
 */
static void jpeg_open(struct jpeg *jpeg)
{
	struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
	if (!jpeg->made)
		jpeg_make(jpeg);
	*cinfo = jpeg->fresh;
	cinfo->mem = &jpeg->pools.methods;
	jpeg_source_init(&jpeg->source, jpeg->input->data, jpeg->input->size);
	cinfo->src = &jpeg->source;
	jpeg->progress = (struct jpeg_progress_mgr){.progress_monitor = on_progress};
	cinfo->progress = &jpeg->progress;
	jpeg->monitored = 0;
	jpeg_save_markers(cinfo, JPEG_APP0 + 1, jpeg->input->exif ? EXIF_BYTES : 0);
}

static void jpeg_check_scans(struct jpeg *jpeg)
{
	const struct decode_limits *limits = &jpeg->input->limits;
	uint64_t bytes = jpeg_coefficient_bytes(&jpeg->cinfo);
	if (bytes > limits->max_coefficient_bytes)
		jpeg_leave(jpeg, fault_say(jpeg->fault, DECODE_E_LIMIT,
					   "JPEG: a file of several scans that needs %s bytes of "
					   "coefficients, the limit is %s (max-coefficient-bytes)",
					   quote_number(bytes).text,
					   quote_number(limits->max_coefficient_bytes).text));
	/* The header of the first scan has been read. */
	const uint8_t *at = jpeg->source.next_input_byte;
	unsigned scans =
		1 + marker_count_scans(at, at + jpeg->source.bytes_in_buffer, limits->max_scans);
	if (scans > limits->max_scans)
		jpeg_leave_scans(jpeg);
}

static void step_header(struct jpeg *jpeg)
{
	struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
	jpeg_reset(jpeg);
	jpeg_open(jpeg);
	int r;
	do /* a file may begin with a datastream of tables alone */
		r = jpeg_read_header(cinfo, FALSE);
	while (r == JPEG_HEADER_TABLES_ONLY);
	if (r == JPEG_SUSPENDED)
		jpeg_cut_short(jpeg);

	r = limits_check_size(&jpeg->input->limits, cinfo->image_width, cinfo->image_height,
			      jpeg->fault);
	if (r)
		jpeg_leave(jpeg, r);
	if (cinfo->num_components != 1 && cinfo->num_components != 3 && cinfo->num_components != 4)
		jpeg_leave(jpeg, fault_say(jpeg->fault, DECODE_E_UNSUPPORTED,
					   "JPEG: %d components; only 1, 3 and 4 are supported",
					   cinfo->num_components));
	if (jpeg_has_multiple_scans(cinfo))
		jpeg_check_scans(jpeg);
	jpeg->stored =
		(struct codec_header){(int32_t)cinfo->image_width, (int32_t)cinfo->image_height,
				      jpeg->input->exif ? jpeg_orientation(cinfo) : 1,
				      .inks = cinfo->num_components == 4, .scales = true};
	jpeg->ready = true;
}

/* --- the part that is needed --- */

static void jpeg_read_rows(struct jpeg *jpeg)
{
	struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
	const struct image *image = &jpeg->image;
	bool cmyk = cinfo->out_color_components == 4;
	uint8_t *to = jpeg->pixels->data;
	int32_t left = image->area.height;
	while (left > 0) {
		JSAMPROW rows[ROWS];
		JDIMENSION count = left < ROWS ? (JDIMENSION)left : ROWS;
		size_t width = (size_t)image->area.width;
		for (JDIMENSION i = 0; i < count; i++)
			rows[i] = cmyk ? jpeg->cmyk.data + i * width * 4 : to + i * image->stride;
		JDIMENSION got = jpeg_read_scanlines(cinfo, rows, count);
		if (got == 0)
			jpeg_cut_short(jpeg);
		if (cmyk)
			cmyk_to_rgb(jpeg->cmyk.data, to, width * got);
		to += got * image->stride;
		left -= (int32_t)got;
	}
}

static void jpeg_skip_rows(struct jpeg *jpeg, int32_t rows)
{
	while (rows > 0) {
		int32_t step = rows < SKIP_ROWS ? rows : SKIP_ROWS;
		jpeg_skip_scanlines(&jpeg->cinfo, (JDIMENSION)step);
		jpeg_check_time(jpeg);
		rows -= step;
	}
}

static void jpeg_set_up(struct jpeg *jpeg)
{
	struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
	jpeg_limit_memory(cinfo, jpeg->input->limits.max_coefficient_bytes);
	cinfo->scale_num = 1;
	cinfo->scale_denom = jpeg->input->scale;
	cinfo->out_color_space = cinfo->num_components == 4 ? JCS_CMYK : JCS_RGB;
}

static void jpeg_make_room(struct jpeg *jpeg, struct rect area)
{
	int r = codec_reserve(&jpeg->header, area, jpeg->pixels, &jpeg->image);
	if (r == 0 && jpeg->cinfo.out_color_components == 4)
		r = buffer_reserve(&jpeg->cmyk, (size_t)area.width * 4 * ROWS);
	if (r < 0)
		jpeg_leave(jpeg, fault_say(jpeg->fault, r, "out of memory while decoding"));
}

static void step_read(struct jpeg *jpeg)
{
	struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
	jpeg_set_up(jpeg);
	if (!jpeg_start_decompress(cinfo))
		jpeg_cut_short(jpeg);
	struct rect area = {0, 0, jpeg->header.width, jpeg->header.height};
	/* libjpeg skips columns and rows without a change of pixels at full size only. */
	if (jpeg->input->scale > 1)
		area.height = jpeg->need.y + jpeg->need.height;
	else if (!jpeg_is_smoothed(cinfo))
		area = jpeg_crop(cinfo, jpeg->need);
	jpeg_make_room(jpeg, area);
	jpeg_skip_rows(jpeg, area.y);
	jpeg_read_rows(jpeg);
}

/* --- damage --- */

/*
 * The whole picture, as Pillow loads it: all rows are decoded, of which only the last one has to be
 * written; then libjpeg reads the markers from where the scan was interrupted or ended, as far as
 * Pillow's buffer reaches.
 */
static void step_load(struct jpeg *jpeg)
{
	struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
	jpeg_set_up(jpeg);
	cinfo->scale_denom = 1;
	if (!jpeg_start_decompress(cinfo))
		jpeg_cut_short(jpeg);
	if (buffer_reserve(&jpeg->cmyk, (size_t)cinfo->output_width * 4) < 0)
		jpeg_leave(jpeg, fault_say(jpeg->fault, -ENOMEM, "out of memory while decoding"));
	jpeg_skip_rows(jpeg, (int32_t)cinfo->output_height - 1);
	JSAMPROW row = jpeg->cmyk.data;
	if (jpeg_read_scanlines(cinfo, &row, 1) == 0)
		jpeg_cut_short(jpeg);
	size_t left = jpeg->source.bytes_in_buffer, used = jpeg->input->size - left;
	size_t buffered = (PILLOW_BYTES - used % PILLOW_BYTES) % PILLOW_BYTES;
	jpeg->source.bytes_in_buffer = buffered < left ? buffered : left;
	jpeg_finish_decompress(cinfo);
}

/* Fail if the file is damaged; the header has been read, before and after. In one scan libjpeg
 * takes any bits: only another marker can be an error. */
static int jpeg_check(struct jpeg *jpeg, struct fault *fault)
{
	const struct jpeg_source_mgr *source = &jpeg->source;
	if (jpeg->input->sound ||
	    marker_scan_is_plain(source->next_input_byte, source->bytes_in_buffer))
		return 0;
	int r = jpeg_run(jpeg, step_load, fault);
	if (r == DECODE_E_UNSUPPORTED || r == DECODE_E_FORMAT) /* of what is no header */
		r = DECODE_E_CORRUPT;
	return r ? r : jpeg_run(jpeg, step_header, fault);
}

/* --- rewrite --- */

static void step_rewrite(struct jpeg *jpeg)
{
	jpeg_set_up(jpeg);
	int r = rewrite_run(&jpeg->rewrite, &jpeg->cinfo, jpeg->stored.orientation, jpeg->pixels);
	if (r)
		jpeg_leave(jpeg, fault_say(jpeg->fault, r, "JPEG: it is incomplete"));
}

/* --- by the seek index: only the MCUs that are needed --- */

static void step_read_indexed(struct jpeg *jpeg)
{
	struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
	struct rect part;
	jpeg_set_up(jpeg);
	int r = indexed_decode_crop(jpeg->indexed, cinfo, &part);
	if (r)
		jpeg_leave(jpeg, r);
	if (!jpeg_start_decompress(cinfo))
		jpeg_cut_short(jpeg);
	indexed_decode_attach(jpeg->indexed, cinfo);
	struct rect area = {part.x, jpeg->need.y, part.width, jpeg->need.height};
	jpeg_make_room(jpeg, area);
	jpeg_skip_rows(jpeg, area.y - part.y);
	jpeg_read_rows(jpeg);
}

/* --- the codec --- */

static int jpeg_new(void **out)
{
	struct jpeg *jpeg = calloc(1, sizeof(*jpeg));
	int r = jpeg ? indexed_decode_new(&jpeg->indexed) : -ENOMEM;
	if (r)
		free(jpeg);
	else
		*out = jpeg;
	return r;
}

static void jpeg_free(void *state)
{
	struct jpeg *jpeg = state;
	if (!jpeg)
		return;
	if (jpeg->made)
		jpeg->cinfo = jpeg->fresh;
	jpeg_destroy_decompress(&jpeg->cinfo);
	buffer_deinit(&jpeg->cmyk);
	indexed_decode_free(jpeg->indexed);
	free(jpeg);
}

static bool jpeg_accepts(const uint8_t *data, size_t size)
{
	return size >= 3 && memcmp(data, "\xFF\xD8\xFF", 3) == 0;
}

static int jpeg_begin(void *state, const struct codec_input *input, struct codec_header *out,
		      struct fault *fault)
{
	struct jpeg *jpeg = state;
	jpeg->input = input;
	jpeg_pools_init(&jpeg->pools, input->arena);
	int r = input->sound ? 0 : jpeg_rules_check(input->data, input->size, fault);
	r = r ? r : jpeg_run(jpeg, step_header, fault);
	if (r == 0)
		*out = jpeg->stored;
	return r;
}

/* Read the part by the index. False: it could not be, and the header has to be read again. */
static bool jpeg_read_indexed(struct jpeg *jpeg)
{
	struct fault ignored;
	if (jpeg_run(jpeg, step_read_indexed, &ignored) == 0)
		return true;
	indexed_decode_discard(jpeg->indexed);
	return false;
}

static int jpeg_read(void *state, const struct codec_input *input, struct rect need,
		     struct buffer *pixels, struct image *out, struct fault *fault)
{
	struct jpeg *jpeg = state;
	int r = 0;
	bool done = false;
	jpeg->header = codec_scale(&jpeg->stored, input->scale);
	jpeg->need = need;
	jpeg->pixels = pixels;
	if (!jpeg->ready) /* a second part of the same image: from the start again */
		r = jpeg_run(jpeg, step_header, fault);
	if (r == 0 && !jpeg_has_multiple_scans(&jpeg->cinfo)) /* of several each part needs all */
		r = jpeg_check(jpeg, fault);
	if (r == 0 && input->scale == 1 &&
	    indexed_decode_find(jpeg->indexed, &jpeg->cinfo, input, need)) {
		done = jpeg_read_indexed(jpeg);
		if (!done)
			r = jpeg_run(jpeg, step_header, fault);
	}
	if (r == 0 && !done)
		r = jpeg_run(jpeg, step_read, fault);
	if (r == 0)
		*out = jpeg->image;
	jpeg_reset(jpeg);
	return r;
}

static int jpeg_index(void *state, struct fault *fault)
{
	struct jpeg *jpeg = state;
	int r = jpeg->ready ? 0 : jpeg_run(jpeg, step_header, fault);
	r = r ? r : jpeg_check(jpeg, fault);
	if (r)
		return r;
	/* An index has all rows from the first to the last that is needed. */
	struct rect last = {0, jpeg->stored.height - 1, 1, 1};
	(void)indexed_decode_find(jpeg->indexed, &jpeg->cinfo, jpeg->input, last);
	return 0;
}

static bool jpeg_can_rewrite(const void *state)
{
	const struct jpeg *jpeg = state;
	return jpeg->ready && rewrite_helps(&jpeg->cinfo);
}

static int jpeg_rewrite(void *state, struct buffer *out, struct fault *fault)
{
	struct jpeg *jpeg = state;
	jpeg->pixels = out;
	if (buffer_reserve(out, 2 * jpeg->input->size + REWRITE_ROOM) < 0)
		return fault_say(fault, -ENOMEM, "out of memory while rewriting");
	int r = jpeg_has_multiple_scans(&jpeg->cinfo) ? 0 : jpeg_check(jpeg, fault);
	r = r ? r : jpeg_run(jpeg, step_rewrite, fault);
	jpeg_reset(jpeg);
	return r;
}

static void jpeg_end(void *state)
{
	struct jpeg *jpeg = state;
	jpeg_reset(jpeg);
	buffer_trim(&jpeg->cmyk, CODEC_KEEP);
	indexed_decode_trim(jpeg->indexed, CODEC_KEEP);
}

const struct codec codec_jpeg = {
	.name = "JPEG",
	.accepts = jpeg_accepts,
	.begin = jpeg_begin,
	.read = jpeg_read,
	.state_new = jpeg_new,
	.end = jpeg_end,
	.state_free = jpeg_free,
	.index = jpeg_index,
	.can_rewrite = jpeg_can_rewrite,
	.rewrite = jpeg_rewrite,
};
