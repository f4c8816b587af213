// SPDX-License-Identifier: MIT
#include "decode/jpeg/indexed_decode.h"

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

/* Pixels around the needed part that upsampling may read: one chroma sample on each side. */
#define MARGIN 4
/* A picture of fewer chroma samples in width is upsampled by libjpeg in a simpler way. */
#define NARROW 4

const bool indexed_decode_built_in = true;

struct indexed_decode {
	struct jpeg_entropy_decoder decoder; /* first: libjpeg knows it by this */
	struct scanner *scanner;
	struct entropy *entropy;
	struct buffer own; /* an index that is being built or extended */

	/* of the picture */
	struct scan_frame frame;
	const struct codec_input *input;
	struct seek_index index;
	struct rect box; /* the part that is needed, in MCUs */
	int condition;	 /* of the last call to entropy.h: 0, ENTROPY_E_STALE or -ENOMEM */
};

int indexed_decode_new(struct indexed_decode **out)
{
	const struct entropy_kernel *kernel = entropy_kernel_best();
	struct indexed_decode *indexed = calloc(1, sizeof(*indexed));
	if (!indexed)
		return -ENOMEM;
	int r = scanner_new(&indexed->scanner, kernel);
	r = r ? r : entropy_new(&indexed->entropy, kernel);
	if (r) {
		indexed_decode_free(indexed);
		return r;
	}
	*out = indexed;
	return 0;
}

void indexed_decode_free(struct indexed_decode *indexed)
{
	if (!indexed)
		return;
	scanner_free(indexed->scanner);
	entropy_free(indexed->entropy);
	buffer_deinit(&indexed->own);
	free(indexed);
}

void indexed_decode_trim(struct indexed_decode *indexed, size_t keep)
{
	entropy_trim(indexed->entropy, keep);
	buffer_trim(&indexed->own, keep);
}

/* --- the header, as libjpeg has read it --- */

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
	return scan_frame_complete(frame);
}

/* --- the MCUs that a part needs --- */

/* In one direction the MCUs that the pixels [from, from + count) need: the first, and the end. */
static void mcu_range(int32_t from, int32_t count, int32_t extent, int32_t unit, int32_t *first,
		      int32_t *end)
{
	int32_t left = from > MARGIN ? from - MARGIN : 0;
	int64_t right = (int64_t)from + count + MARGIN;
	if (right > extent)
		right = extent;
	*first = left / unit;
	*end = (int32_t)((right + unit - 1) / unit);
	/* The last, incomplete MCU alone may be too narrow to be upsampled as in the whole. */
	if (*first > 0 && extent - *first * unit < NARROW * unit / DCTSIZE)
		--*first;
}

static struct rect mcu_box(const struct scan_frame *frame, struct rect need)
{
	int32_t left, right, top, bottom;
	mcu_range(need.x, need.width, frame->width, frame->unit_width, &left, &right);
	mcu_range(need.y, need.height, frame->height, frame->unit_height, &top, &bottom);
	return (struct rect){left, top, right - left, bottom - top};
}

/* --- the index --- */

/* Extend the index in `own` to `rows` and put it into the set. The set's own index, which others
 * read, is not written before. */
static int indexed_decode_extend(struct indexed_decode *indexed, uint32_t rows)
{
	const struct codec_input *input = indexed->input;
	const struct scan_frame *frame = &indexed->frame;
	struct buffer *own = &indexed->own;
	int r = seek_index_open(&indexed->index, own->data, own->size, frame, input->data,
				input->size);
	if (r)
		return r;
	r = scanner_extend(indexed->scanner, frame, input->data, input->size, rows, own->data,
			   &indexed->index);
	if (r)
		return r;
	const struct decode_origin *origin = &input->origin;
	seek_index_set_put(origin->seek_indexes, origin->sample, &origin->stamp, own->data,
			   own->size);
	return seek_index_open(&indexed->index, own->data, own->size, frame, input->data,
			       input->size);
}

static int indexed_decode_open(struct indexed_decode *indexed, const uint8_t *bytes, size_t size)
{
	const struct codec_input *input = indexed->input;
	uint32_t rows = (uint32_t)(indexed->box.y + indexed->box.height);
	int r;
	if (!bytes) {
		r = scanner_accepts(&indexed->frame, input->size);
		r = r ? r
		      : seek_index_begin(&indexed->own, &indexed->frame, input->data, input->size);
		return r ? r : indexed_decode_extend(indexed, rows);
	}
	r = seek_index_open(&indexed->index, bytes, size, &indexed->frame, input->data,
			    input->size);
	if (r || indexed->index.rows >= rows)
		return r;
	r = seek_index_copy(&indexed->own, bytes);
	indexed->own.size = size;
	return r ? r : indexed_decode_extend(indexed, rows);
}

bool indexed_decode_find(struct indexed_decode *indexed, const struct jpeg_decompress_struct *cinfo,
			 const struct codec_input *input, struct rect need)
{
	const struct decode_origin *origin = &input->origin;
	const uint8_t *bytes = NULL;
	size_t size = 0;
	if (!origin->seek_indexes)
		return false;
	indexed->input = input;
	indexed->condition = 0;
	enum seek_index_set_answer answer = seek_index_set_find(
		origin->seek_indexes, origin->sample, &origin->stamp, &bytes, &size);
	if (answer == SEEK_INDEX_SET_NEVER)
		return false;
	size_t offset = (size_t)(cinfo->src->next_input_byte - input->data);
	int r = frame_read(&indexed->frame, cinfo, offset);
	/* What there is of a picture without an end marker is libjpeg's to say. */
	if (r == 0 && !marker_has_end(input->data + offset, input->size - offset))
		r = SEEK_INDEX_E_DAMAGED;
	if (r == 0) {
		indexed->box = mcu_box(&indexed->frame, need);
		r = indexed_decode_open(indexed, bytes, size);
	}
	if (r > 0)
		seek_index_set_refuse(origin->seek_indexes, origin->sample, &origin->stamp, r);
	return r == 0;
}

void indexed_decode_discard(struct indexed_decode *indexed)
{
	const struct decode_origin *origin = &indexed->input->origin;
	if (indexed->condition > 0)
		seek_index_set_refuse(origin->seek_indexes, origin->sample, &origin->stamp,
				      SEEK_INDEX_E_INDEX);
}

/* --- a smaller picture for libjpeg --- */

static struct rect crop_area(const struct scan_frame *frame, struct rect box)
{
	struct rect part = {box.x * frame->unit_width, box.y * frame->unit_height,
			    box.width * frame->unit_width, box.height * frame->unit_height};
	if (part.width > frame->width - part.x)
		part.width = frame->width - part.x;
	if (part.height > frame->height - part.y)
		part.height = frame->height - part.y;
	return part;
}

static JDIMENSION scale_up(JDIMENSION size, int factor, int unit)
{
	return (JDIMENSION)(((long)size * factor + unit - 1) / unit);
}

/* Derive from a frame's header what libjpeg's jdinput.c does, for another size. */
static void crop_frame(struct jpeg_decompress_struct *cinfo, struct rect part)
{
	int h = cinfo->max_h_samp_factor, v = cinfo->max_v_samp_factor;
	cinfo->image_width = (JDIMENSION)part.width;
	cinfo->image_height = (JDIMENSION)part.height;
	cinfo->total_iMCU_rows = scale_up(cinfo->image_height, 1, v * DCTSIZE);
	for (int i = 0; i < cinfo->num_components; i++) {
		jpeg_component_info *component = &cinfo->comp_info[i];
		component->width_in_blocks =
			scale_up(cinfo->image_width, component->h_samp_factor, h * DCTSIZE);
		component->height_in_blocks =
			scale_up(cinfo->image_height, component->v_samp_factor, v * DCTSIZE);
		component->downsampled_width =
			scale_up(cinfo->image_width, component->h_samp_factor, h);
		component->downsampled_height =
			scale_up(cinfo->image_height, component->v_samp_factor, v);
	}
}

int indexed_decode_crop(struct indexed_decode *indexed, struct jpeg_decompress_struct *cinfo,
			struct rect *part_out)
{
	const struct codec_input *input = indexed->input;
	indexed->condition = entropy_begin(indexed->entropy, &indexed->frame, &indexed->index,
					   input->data, input->size, indexed->box);
	if (indexed->condition)
		return indexed->condition < 0 ? indexed->condition : SEEK_INDEX_E_INDEX;
	*part_out = crop_area(&indexed->frame, indexed->box);
	crop_frame(cinfo, *part_out);
	return 0;
}

/* --- in place of libjpeg's Huffman decoder --- */

static boolean indexed_decode_mcu(j_decompress_ptr cinfo, JBLOCKROW *blocks)
{
	struct indexed_decode *indexed = (struct indexed_decode *)(void *)cinfo->entropy;
	int16_t *to[SCAN_BLOCKS];
	for (unsigned i = 0; blocks && i < indexed->frame.blocks; i++)
		to[i] = blocks[i][0];
	indexed->condition = entropy_next(indexed->entropy, blocks ? to : NULL);
	if (indexed->condition) {
		cinfo->err->msg_code = JERR_BAD_DCT_COEF;
		cinfo->err->error_exit((j_common_ptr)cinfo);
	}
	return TRUE;
}

static void indexed_decode_start_pass(j_decompress_ptr cinfo)
{
	(void)cinfo;
}

void indexed_decode_attach(struct indexed_decode *indexed, struct jpeg_decompress_struct *cinfo)
{
	indexed->decoder = *cinfo->entropy;
	indexed->decoder.start_pass = indexed_decode_start_pass;
	indexed->decoder.decode_mcu = indexed_decode_mcu;
	cinfo->entropy = &indexed->decoder;
}
