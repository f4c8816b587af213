// SPDX-License-Identifier: MIT
/*
 * The library reports an error by calling us and must not be returned to: error_exit() jumps back
 * to jpeg_run(), the only setjmp, which has no local that changes. The steps that run under it keep
 * everything that outlives them in struct jpeg.
 */
#include "decode/jpeg/jpeg.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs it */
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "decode/cmyk.h"
#include "decode/exif.h"
#include "decode/jpeg/jpeg_library.h"
#include "decode/jpeg/jpeg_pools.h"
#include "decode/jpeg/marker.h"
#include "decode/jpeg/shortcut.h"

#define ROWS 16				/* rows handed to the library at a time */
#define SKIP_ROWS 1024			/* rows skipped between two looks at the clock */
#define MONITOR_CALLS 64		/* calls of the monitor for one look at the clock */
#define EXIF_BYTES 65533		/* the most that one marker can hold */
#define SPARE_MEMORY ((size_t)16 << 20) /* the library's, beside coefficients */

struct jpeg {
	struct jpeg_decompress_struct cinfo;
	struct jpeg_decompress_struct fresh; /* as it was when the library had made it */
	struct jpeg_pools pools;
	struct jpeg_error_mgr error;
	struct jpeg_source_mgr source;
	struct jpeg_progress_mgr progress;
	jmp_buf back;
	int verdict; /* a condition of our own that made us jump; its words are in `fault` */
	struct fault *fault;
	unsigned monitored;
	bool made;  /* cinfo exists */
	bool ready; /* ... and the picture's header has just been read */

	const struct codec_input *input;
	bool exif;
	struct codec_header stored;
	unsigned scale;		    /* the picture is decoded at 1/scale of its size ... */
	struct codec_header header; /* ... and comes out with this one */
	struct buffer ink;	    /* rows of CMYK on their way to RGB */

	struct shortcut *shortcut;
	struct decode_origin origin; /* of the picture; `seek_indexes` is NULL if it is not known */

	/* of the part being read */
	struct rect need;
	struct buffer *pixels;
	struct image image;
};

/* --- what the library calls --- */

static struct jpeg *jpeg_of(j_common_ptr cinfo)
{
	return cinfo->client_data;
}

static void on_error(j_common_ptr cinfo)
{
	longjmp(jpeg_of(cinfo)->back, 1);
}

/* A warning is counted by the library's default emit_message(); Pillow keeps such pictures. */
static void on_message(j_common_ptr cinfo)
{
	(void)cinfo;
}

static _Noreturn void jpeg_leave(struct jpeg *jpeg, int verdict)
{
	jpeg->verdict = verdict;
	longjmp(jpeg->back, 1);
}

static void jpeg_check_time(struct jpeg *jpeg)
{
	int r = codec_check_time(jpeg->input, jpeg->fault);
	if (r)
		jpeg_leave(jpeg, r);
}

/* The only way to stop a file of many scans inside jpeg_start_decompress(). */
static void on_progress(j_common_ptr common)
{
	struct jpeg *jpeg = jpeg_of(common);
	unsigned limit = jpeg->input->limits.max_scans;
	if ((unsigned)jpeg->cinfo.input_scan_number > limit)
		jpeg_leave(jpeg, fault_say(jpeg->fault, DECODE_E_LIMIT,
					   "a JPEG of more than %u scans, the limit", limit));
	if (++jpeg->monitored % MONITOR_CALLS == 0)
		jpeg_check_time(jpeg);
}

/* --- one door in, one way out --- */

static int jpeg_failed(struct jpeg *jpeg)
{
	int r = jpeg->verdict;
	if (r == 0) {
		char text[JMSG_LENGTH_MAX];
		jpeg->error.format_message((j_common_ptr)&jpeg->cinfo, text);
		r = jpeg_condition(jpeg->error.msg_code);
		fault_say(jpeg->fault, r, "JPEG: %s", text);
	}
	jpeg_end(jpeg);
	return r;
}

static int jpeg_run(struct jpeg *jpeg, void (*step)(struct jpeg *jpeg), struct fault *fault)
{
	jpeg->verdict = 0;
	jpeg->fault = fault;
	if (setjmp(jpeg->back))
		return jpeg_failed(jpeg);
	step(jpeg);
	return 0;
}

static _Noreturn void jpeg_cut_short(struct jpeg *jpeg)
{
	jpeg_leave(jpeg, fault_say(jpeg->fault, DECODE_E_CORRUPT, "JPEG: cut short after %s bytes",
				   codec_number(jpeg->input->size).text));
}

/* --- the header and its gates --- */

/* The library's own memory manager stays for what it makes here and never again. */
static void jpeg_make(struct jpeg *jpeg)
{
	struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
	cinfo->err = jpeg_std_error(&jpeg->error);
	jpeg->error.error_exit = on_error;
	jpeg->error.output_message = on_message;
	cinfo->client_data = jpeg;
	jpeg_destroy_decompress(cinfo); /* what an attempt without memory left */
	jpeg_create_decompress(cinfo);
	jpeg->fresh = *cinfo;
	jpeg->made = true;
}

/*
 * An object as good as new for every image: libjpeg keeps the tables of one image for the next, and
 * a file without tables would be decoded with those of whichever file this worker had before it.
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
	jpeg_save_markers(cinfo, JPEG_APP0 + 1, jpeg->exif ? EXIF_BYTES : 0);
}

static uint64_t round_up(uint64_t number, int multiple)
{
	return (number + (unsigned)multiple - 1) / (unsigned)multiple * (unsigned)multiple;
}

/* What a file of several scans makes the library hold until the last one is read. */
static uint64_t jpeg_coefficient_bytes(const struct jpeg_decompress_struct *cinfo)
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

static void jpeg_check_scans(struct jpeg *jpeg)
{
	const struct decode_limits *limits = &jpeg->input->limits;
	uint64_t bytes = jpeg_coefficient_bytes(&jpeg->cinfo);
	if (bytes > limits->max_coefficient_bytes)
		jpeg_leave(jpeg, fault_say(jpeg->fault, DECODE_E_LIMIT,
					   "a JPEG of several scans that needs %s bytes of "
					   "coefficients, the limit is %s",
					   codec_number(bytes).text,
					   codec_number(limits->max_coefficient_bytes).text));
	/* The scan whose header has been read is one. */
	const uint8_t *at = jpeg->source.next_input_byte;
	unsigned scans =
		1 + marker_count_scans(at, at + jpeg->source.bytes_in_buffer, limits->max_scans);
	if (scans > limits->max_scans)
		jpeg_leave(jpeg,
			   fault_say(jpeg->fault, DECODE_E_LIMIT,
				     "a JPEG of more than %u scans, the limit", limits->max_scans));
}

/* The first APP1 that calls itself Exif, as Pillow takes it. */
static unsigned jpeg_orientation(const struct jpeg_decompress_struct *cinfo)
{
	for (jpeg_saved_marker_ptr at = cinfo->marker_list; at; at = at->next)
		if (at->data_length >= 5 && memcmp(at->data, "Exif", 5) == 0)
			return exif_orientation(at->data, at->data_length);
	return 1;
}

static void jpeg_measure(struct jpeg *jpeg)
{
	int32_t scale = (int32_t)jpeg->scale;
	jpeg->header = jpeg->stored;
	jpeg->header.width = (jpeg->stored.width + scale - 1) / scale;
	jpeg->header.height = (jpeg->stored.height + scale - 1) / scale;
}

static void step_header(struct jpeg *jpeg)
{
	struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
	jpeg_end(jpeg);
	jpeg_open(jpeg);
	int r;
	do /* a file may begin with a stream of tables alone */
		r = jpeg_read_header(cinfo, FALSE);
	while (r == JPEG_HEADER_TABLES_ONLY);
	if (r == JPEG_SUSPENDED)
		jpeg_cut_short(jpeg);

	r = codec_check_size(jpeg->input, cinfo->image_width, cinfo->image_height, jpeg->fault);
	if (r)
		jpeg_leave(jpeg, r);
	if (cinfo->num_components != 1 && cinfo->num_components != 3 && cinfo->num_components != 4)
		jpeg_leave(jpeg, fault_say(jpeg->fault, DECODE_E_UNSUPPORTED,
					   "a JPEG of %d components", cinfo->num_components));
	if (jpeg_has_multiple_scans(cinfo))
		jpeg_check_scans(jpeg);
	jpeg->stored =
		(struct codec_header){(int32_t)cinfo->image_width, (int32_t)cinfo->image_height,
				      jpeg->exif ? jpeg_orientation(cinfo) : 1};
	jpeg_measure(jpeg);
	jpeg->ready = true;
}

/* --- the part that is needed --- */

/* A progressive file that lacks its last scans is smoothed across blocks, and the smoothing is not
 * the same at the borders of a part. */
static bool jpeg_is_smoothed(const struct jpeg_decompress_struct *cinfo)
{
	if (!cinfo->progressive_mode || !cinfo->coef_bits)
		return false;
	for (int i = 0; i < cinfo->num_components; i++)
		for (int k = 1; k < 10; k++)
			if (cinfo->coef_bits[i][k] != 0)
				return true;
	return false;
}

/* Columns: whole iMCUs and one more on each side, so that chroma is upsampled as in the middle of
 * the picture. Rows: the library keeps its own context. */
static struct rect jpeg_area(struct jpeg *jpeg, bool whole)
{
	struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
	const struct codec_header *header = &jpeg->header;
	if (whole)
		return (struct rect){0, 0, header->width, header->height};
	/* What the library skips is exact at full size only. */
	if (jpeg->scale > 1)
		return (struct rect){0, 0, header->width, jpeg->need.y + jpeg->need.height};

	int32_t unit = cinfo->max_h_samp_factor * DCTSIZE;
	int32_t left = jpeg->need.x / unit * unit - unit;
	int64_t right = round_up((uint64_t)jpeg->need.x + (uint64_t)jpeg->need.width, unit) + unit;
	if (left < 0)
		left = 0;
	if (right > header->width)
		right = header->width;
	struct rect area = {left, jpeg->need.y, (int32_t)right - left, jpeg->need.height};
	JDIMENSION x = (JDIMENSION)area.x, width = (JDIMENSION)area.width;
	if (area.width < header->width)
		jpeg_crop_scanline(cinfo, &x, &width);
	area.x = (int32_t)x;
	area.width = (int32_t)width;
	return area;
}

static void jpeg_read_rows(struct jpeg *jpeg)
{
	struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
	const struct image *image = &jpeg->image;
	bool ink = cinfo->out_color_components == 4;
	uint8_t *to = jpeg->pixels->data;
	int32_t left = image->area.height;
	while (left > 0) {
		JSAMPROW rows[ROWS];
		JDIMENSION count = left < ROWS ? (JDIMENSION)left : ROWS;
		size_t width = (size_t)image->area.width;
		for (JDIMENSION i = 0; i < count; i++)
			rows[i] = ink ? jpeg->ink.data + i * width * 4 : to + i * image->stride;
		JDIMENSION got = jpeg_read_scanlines(cinfo, rows, count);
		if (got == 0)
			jpeg_cut_short(jpeg);
		if (ink)
			ink_to_rgb(jpeg->ink.data, to, width * got);
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
	uint64_t memory = jpeg->input->limits.max_coefficient_bytes;
	if (memory > LONG_MAX - SPARE_MEMORY)
		memory = LONG_MAX - SPARE_MEMORY;
	cinfo->mem->max_memory_to_use = (long)(memory + SPARE_MEMORY);
	cinfo->scale_num = 1;
	cinfo->scale_denom = jpeg->scale;
	cinfo->out_color_space = cinfo->num_components == 4 ? JCS_CMYK : JCS_RGB;
}

static void jpeg_make_room(struct jpeg *jpeg, struct rect area)
{
	int r = codec_room(&jpeg->header, area, jpeg->pixels, &jpeg->image);
	if (r == 0 && jpeg->cinfo.out_color_components == 4)
		r = buffer_reserve(&jpeg->ink, (size_t)area.width * 4 * ROWS);
	if (r < 0)
		jpeg_leave(jpeg, fault_say(jpeg->fault, r, "no memory for the picture"));
}

static void step_read(struct jpeg *jpeg)
{
	struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
	jpeg_set_up(jpeg);
	/* A file without an end is read to where it breaks off, so that it is found to be cut short
	 * whichever part of it is asked for. */
	bool whole = !marker_has_end(jpeg->source.next_input_byte, jpeg->source.bytes_in_buffer);
	if (!jpeg_start_decompress(cinfo))
		jpeg_cut_short(jpeg);
	struct rect area = jpeg_area(jpeg, whole || jpeg_is_smoothed(cinfo));
	jpeg_make_room(jpeg, area);
	jpeg_skip_rows(jpeg, area.y);
	jpeg_read_rows(jpeg);
}

/* --- with an index of the scan, the MCUs that are needed and no others --- */

static void step_read_indexed(struct jpeg *jpeg)
{
	struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
	struct rect part;
	jpeg_set_up(jpeg);
	int r = shortcut_shrink(jpeg->shortcut, cinfo, &part);
	if (r)
		jpeg_leave(jpeg, r);
	if (!jpeg_start_decompress(cinfo))
		jpeg_cut_short(jpeg);
	shortcut_enter(jpeg->shortcut, cinfo);
	struct rect area = {part.x, jpeg->need.y, part.width, jpeg->need.height};
	jpeg_make_room(jpeg, area);
	jpeg_skip_rows(jpeg, area.y - part.y);
	jpeg_read_rows(jpeg);
}

/* --- the doors --- */

int jpeg_new(struct jpeg **out, struct arena *arena)
{
	struct jpeg *jpeg = calloc(1, sizeof(*jpeg));
	if (!jpeg)
		return -ENOMEM;
	int r = shortcut_new(&jpeg->shortcut);
	if (r) {
		free(jpeg);
		return r;
	}
	jpeg_pools_init(&jpeg->pools, arena);
	*out = jpeg;
	return 0;
}

void jpeg_free(struct jpeg *jpeg)
{
	if (!jpeg)
		return;
	jpeg_end(jpeg);
	if (jpeg->made)
		jpeg->cinfo = jpeg->fresh;
	jpeg_destroy_decompress(&jpeg->cinfo);
	buffer_deinit(&jpeg->ink);
	shortcut_free(jpeg->shortcut);
	free(jpeg);
}

bool jpeg_accepts(const uint8_t *data, size_t size)
{
	return size >= 3 && memcmp(data, "\xFF\xD8\xFF", 3) == 0;
}

int jpeg_begin(struct jpeg *jpeg, const struct codec_input *input, bool exif,
	       struct codec_header *out, struct fault *fault)
{
	jpeg_end(jpeg);
	jpeg->input = input;
	jpeg->exif = exif;
	jpeg->scale = 1;
	jpeg->origin = DECODE_ORIGIN_NULL;
	int r = jpeg_run(jpeg, step_header, fault);
	if (r == 0)
		*out = jpeg->header;
	return r;
}

void jpeg_set_scale(struct jpeg *jpeg, unsigned scale, struct codec_header *out)
{
	jpeg->scale = scale;
	jpeg_measure(jpeg);
	*out = jpeg->header;
}

void jpeg_set_origin(struct jpeg *jpeg, const struct decode_origin *origin)
{
	jpeg->origin = *origin;
}

/* Whether the part could be read by an index; if not, the picture has to be begun again. */
static bool jpeg_read_indexed(struct jpeg *jpeg)
{
	struct fault ignored;
	if (jpeg_run(jpeg, step_read_indexed, &ignored) == 0)
		return true;
	shortcut_forget(jpeg->shortcut, &jpeg->origin);
	return false;
}

int jpeg_read(struct jpeg *jpeg, struct rect need, struct buffer *pixels, struct image *out,
	      struct fault *fault)
{
	int r = 0;
	bool done = false;
	jpeg->need = need;
	jpeg->pixels = pixels;
	if (!jpeg->ready) /* a second part of the same image: from the start again */
		r = jpeg_run(jpeg, step_header, fault);
	if (r == 0 && jpeg->scale == 1 &&
	    shortcut_find(jpeg->shortcut, &jpeg->cinfo, jpeg->input, &jpeg->origin, need)) {
		done = jpeg_read_indexed(jpeg);
		if (!done)
			r = jpeg_run(jpeg, step_header, fault);
	}
	if (r == 0 && !done)
		r = jpeg_run(jpeg, step_read, fault);
	if (r == 0)
		*out = jpeg->image;
	jpeg_end(jpeg);
	return r;
}

void jpeg_visit(struct jpeg *jpeg)
{
	/* An index knows all rows above those that are needed. */
	struct rect last = {0, jpeg->header.height - 1, 1, 1};
	if (jpeg->ready)
		(void)shortcut_find(jpeg->shortcut, &jpeg->cinfo, jpeg->input, &jpeg->origin, last);
}

void jpeg_end(struct jpeg *jpeg)
{
	jpeg_pools_reset(&jpeg->pools);
	jpeg->ready = false;
}

void jpeg_trim(struct jpeg *jpeg, size_t keep)
{
	buffer_trim(&jpeg->ink, keep);
	shortcut_trim(jpeg->shortcut, keep);
}
