// SPDX-License-Identifier: MIT
#include "decode/jpeg/shortcut.h"

#include <errno.h>
#include <stdio.h> /* jpeglib.h needs it */
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>
#include <jpegint.h>

#include "decode/jpeg/entropy.h"
#include "decode/jpeg/entropy_kernel.h"
#include "decode/jpeg/marker.h"
#include "decode/jpeg/scanner.h"
#include "decode/jpeg/seek_index_set.h"

/* Pixels around what is needed that upsampling may look at: a sample of chroma on each side. */
#define MARGIN 4
/* Samples of chroma below which libjpeg upsamples a picture in a simpler way. */
#define NARROW 4

const bool shortcut_built_in = true;

struct shortcut {
	struct jpeg_entropy_decoder decoder; /* first: libjpeg knows it by this */
	struct scanner *scanner;
	struct entropy *entropy;
	struct buffer own; /* an index that is being made or made longer */

	/* of the picture */
	struct scan_frame frame;
	const struct codec_input *input;
	struct seek_index index;
	struct rect box; /* the part that is needed, in MCUs */
	int verdict;	 /* of the last step: 0, ENTROPY_E_STALE or -ENOMEM */
};

int shortcut_new(struct shortcut **out)
{
	const struct entropy_kernel *kernel = entropy_kernel_best();
	struct shortcut *shortcut = calloc(1, sizeof(*shortcut));
	if (!shortcut)
		return -ENOMEM;
	int r = scanner_new(&shortcut->scanner, kernel);
	r = r ? r : entropy_new(&shortcut->entropy, kernel);
	if (r) {
		shortcut_free(shortcut);
		return r;
	}
	*out = shortcut;
	return 0;
}

void shortcut_free(struct shortcut *shortcut)
{
	if (!shortcut)
		return;
	scanner_free(shortcut->scanner);
	entropy_free(shortcut->entropy);
	buffer_deinit(&shortcut->own);
	free(shortcut);
}

void shortcut_trim(struct shortcut *shortcut, size_t keep)
{
	entropy_trim(shortcut->entropy, keep);
	buffer_trim(&shortcut->own, keep);
}

/* --- what libjpeg has read of the header --- */

static int refusal_of(const struct jpeg_decompress_struct *cinfo)
{
	if (cinfo->arith_code)
		return SEEK_INDEX_E_ARITHMETIC;
	if (cinfo->progressive_mode)
		return SEEK_INDEX_E_PROGRESSIVE;
	if (cinfo->comps_in_scan != cinfo->num_components)
		return SEEK_INDEX_E_SCANS;
	if (cinfo->restart_interval)
		return SEEK_INDEX_E_RESTARTS;
	if (cinfo->data_precision != 8 || cinfo->Ss != 0 || cinfo->Se != DCTSIZE2 - 1 ||
	    cinfo->Ah != 0 || cinfo->Al != 0 || cinfo->err->num_warnings > 0 ||
	    cinfo->num_components > SCAN_COMPONENTS)
		return SEEK_INDEX_E_ODD;
	return 0;
}

static bool code_copy(struct huffman_code *out, JHUFF_TBL *const *tables, int number)
{
	if (number < 0 || number >= NUM_HUFF_TBLS || !tables[number])
		return false;
	memcpy(out->counts, tables[number]->bits, sizeof(out->counts));
	memcpy(out->symbols, tables[number]->huffval, sizeof(out->symbols));
	return true;
}

static int frame_read(struct scan_frame *frame, const struct jpeg_decompress_struct *cinfo,
		      size_t offset)
{
	int r = refusal_of(cinfo);
	if (r)
		return r;
	if (offset > UINT32_MAX)
		return SEEK_INDEX_E_ODD;
	frame->width = (int32_t)cinfo->image_width;
	frame->height = (int32_t)cinfo->image_height;
	frame->offset = (uint32_t)offset;
	frame->components = (unsigned)cinfo->num_components;
	bool single = cinfo->num_components == 1;
	for (int i = 0; i < cinfo->num_components; i++) {
		const jpeg_component_info *component = cinfo->cur_comp_info[i];
		int dc = component->dc_tbl_no, ac = component->ac_tbl_no;
		int quant = component->quant_tbl_no;
		if (component != &cinfo->comp_info[i] || quant < 0 || quant >= NUM_QUANT_TBLS ||
		    !cinfo->quant_tbl_ptrs[quant] ||
		    !code_copy(&frame->dc[dc & 3], cinfo->dc_huff_tbl_ptrs, dc) ||
		    !code_copy(&frame->ac[ac & 3], cinfo->ac_huff_tbl_ptrs, ac))
			return SEEK_INDEX_E_ODD;
		frame->component[i] = (struct scan_component){
			.h = (uint8_t)(single ? 1 : component->h_samp_factor),
			.v = (uint8_t)(single ? 1 : component->v_samp_factor),
			.dc = (uint8_t)dc,
			.ac = (uint8_t)ac,
		};
	}
	return scan_frame_settle(frame);
}

/* --- the part --- */

/* The MCUs along one side that [from, from + count) takes: first and behind the last. */
static void side(int32_t from, int32_t count, int32_t extent, int32_t unit, int32_t *first,
		 int32_t *end)
{
	int32_t left = from > MARGIN ? from - MARGIN : 0;
	int64_t right = (int64_t)from + count + MARGIN;
	if (right > extent)
		right = extent;
	*first = left / unit;
	*end = (int32_t)((right + unit - 1) / unit);
	/* What is left of the picture's last MCU may be too narrow to be upsampled as in the whole.
	 */
	if (*first > 0 && extent - *first * unit < NARROW * unit / DCTSIZE)
		--*first;
}

static struct rect shrink_box(const struct scan_frame *frame, struct rect need)
{
	int32_t left, right, top, bottom;
	side(need.x, need.width, frame->width, frame->unit_width, &left, &right);
	side(need.y, need.height, frame->height, frame->unit_height, &top, &bottom);
	return (struct rect){left, top, right - left, bottom - top};
}

/* --- the index --- */

/* Learn the rows down to `rows` and leave them in the store. The store's own index stays as it is
 * until then: others read it. */
static int shortcut_learn(struct shortcut *shortcut, const struct decode_origin *origin,
			  uint32_t rows)
{
	const struct codec_input *input = shortcut->input;
	const struct scan_frame *frame = &shortcut->frame;
	struct buffer *own = &shortcut->own;
	int r = seek_index_open(&shortcut->index, own->data, own->size, frame, input->data,
				input->size);
	if (r)
		return r;
	r = scanner_extend(shortcut->scanner, frame, input->data, input->size, rows, own->data,
			   &shortcut->index);
	if (r)
		return r;
	seek_index_set_put(origin->seek_indexes, origin->sample, &origin->stamp, own->data,
			   own->size);
	return seek_index_open(&shortcut->index, own->data, own->size, frame, input->data,
			       input->size);
}

static int shortcut_open(struct shortcut *shortcut, const struct decode_origin *origin,
			 const uint8_t *bytes, size_t size)
{
	const struct codec_input *input = shortcut->input;
	uint32_t rows = (uint32_t)(shortcut->box.y + shortcut->box.height);
	int r;
	if (!bytes) {
		r = scanner_accepts(&shortcut->frame, input->size);
		r = r ? r
		      : seek_index_begin(&shortcut->own, &shortcut->frame, input->data,
					 input->size);
		return r ? r : shortcut_learn(shortcut, origin, rows);
	}
	r = seek_index_open(&shortcut->index, bytes, size, &shortcut->frame, input->data,
			    input->size);
	if (r || shortcut->index.rows >= rows)
		return r;
	r = seek_index_copy(&shortcut->own, bytes);
	shortcut->own.size = size;
	return r ? r : shortcut_learn(shortcut, origin, rows);
}

bool shortcut_find(struct shortcut *shortcut, const struct jpeg_decompress_struct *cinfo,
		   const struct codec_input *input, const struct decode_origin *origin,
		   struct rect need)
{
	const uint8_t *bytes = NULL;
	size_t size = 0;
	if (!origin->seek_indexes)
		return false;
	shortcut->input = input;
	shortcut->verdict = 0;
	enum seek_index_set_answer answer = seek_index_set_find(
		origin->seek_indexes, origin->sample, &origin->stamp, &bytes, &size);
	if (answer == SEEK_INDEX_SET_NEVER)
		return false;
	size_t offset = (size_t)(cinfo->src->next_input_byte - input->data);
	int r = frame_read(&shortcut->frame, cinfo, offset);
	/* Without an end it is bad, whichever part is asked for, and libjpeg is to say so. */
	if (r == 0 && !marker_has_end(input->data + offset, input->size - offset))
		r = SEEK_INDEX_E_DAMAGED;
	if (r == 0) {
		shortcut->box = shrink_box(&shortcut->frame, need);
		r = shortcut_open(shortcut, origin, bytes, size);
	}
	if (r > 0)
		seek_index_set_refuse(origin->seek_indexes, origin->sample, &origin->stamp, r);
	return r == 0;
}

void shortcut_forget(struct shortcut *shortcut, const struct decode_origin *origin)
{
	if (shortcut->verdict > 0)
		seek_index_set_refuse(origin->seek_indexes, origin->sample, &origin->stamp,
				      SEEK_INDEX_E_INDEX);
}

/* --- the smaller picture --- */

static struct rect shrink_part(const struct scan_frame *frame, struct rect box)
{
	struct rect part = {box.x * frame->unit_width, box.y * frame->unit_height,
			    box.width * frame->unit_width, box.height * frame->unit_height};
	if (part.width > frame->width - part.x)
		part.width = frame->width - part.x;
	if (part.height > frame->height - part.y)
		part.height = frame->height - part.y;
	return part;
}

static JDIMENSION up(JDIMENSION size, int factor, int unit)
{
	return (JDIMENSION)(((long)size * factor + unit - 1) / unit);
}

/* What libjpeg's jdinput.c works out from a frame's header, for another size. */
static void shrink_frame(struct jpeg_decompress_struct *cinfo, struct rect part)
{
	int h = cinfo->max_h_samp_factor, v = cinfo->max_v_samp_factor;
	cinfo->image_width = (JDIMENSION)part.width;
	cinfo->image_height = (JDIMENSION)part.height;
	cinfo->total_iMCU_rows = up(cinfo->image_height, 1, v * DCTSIZE);
	for (int i = 0; i < cinfo->num_components; i++) {
		jpeg_component_info *component = &cinfo->comp_info[i];
		component->width_in_blocks =
			up(cinfo->image_width, component->h_samp_factor, h * DCTSIZE);
		component->height_in_blocks =
			up(cinfo->image_height, component->v_samp_factor, v * DCTSIZE);
		component->downsampled_width = up(cinfo->image_width, component->h_samp_factor, h);
		component->downsampled_height =
			up(cinfo->image_height, component->v_samp_factor, v);
	}
}

int shortcut_shrink(struct shortcut *shortcut, struct jpeg_decompress_struct *cinfo,
		    struct rect *part_out)
{
	const struct codec_input *input = shortcut->input;
	shortcut->verdict = entropy_begin(shortcut->entropy, &shortcut->frame, &shortcut->index,
					  input->data, input->size, shortcut->box);
	if (shortcut->verdict)
		return shortcut->verdict < 0 ? shortcut->verdict : SEEK_INDEX_E_INDEX;
	*part_out = shrink_part(&shortcut->frame, shortcut->box);
	shrink_frame(cinfo, *part_out);
	return 0;
}

/* --- in place of libjpeg's decoder --- */

static boolean shortcut_mcu(j_decompress_ptr cinfo, JBLOCKROW *blocks)
{
	struct shortcut *shortcut = (struct shortcut *)(void *)cinfo->entropy;
	int16_t *to[SCAN_BLOCKS];
	for (unsigned i = 0; blocks && i < shortcut->frame.blocks; i++)
		to[i] = blocks[i][0];
	shortcut->verdict = entropy_next(shortcut->entropy, blocks ? to : NULL);
	if (shortcut->verdict) {
		cinfo->err->msg_code = JERR_BAD_DCT_COEF;
		cinfo->err->error_exit((j_common_ptr)cinfo);
	}
	return TRUE;
}

static void shortcut_start(j_decompress_ptr cinfo)
{
	(void)cinfo;
}

void shortcut_enter(struct shortcut *shortcut, struct jpeg_decompress_struct *cinfo)
{
	shortcut->decoder = *cinfo->entropy;
	shortcut->decoder.start_pass = shortcut_start;
	shortcut->decoder.decode_mcu = shortcut_mcu;
	cinfo->entropy = &shortcut->decoder;
}
