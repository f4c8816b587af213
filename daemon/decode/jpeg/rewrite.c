// SPDX-License-Identifier: MIT
#include "decode/jpeg/rewrite.h"

#include <jerror.h>

#include "decode/decode.h"
#include "decode/jpeg/jpeg_library.h"

bool rewrite_helps(const struct jpeg_decompress_struct *from)
{
	return from->progressive_mode || from->arith_code || from->restart_interval > 0 ||
	       from->comps_in_scan != from->num_components;
}

static void destination_nothing(j_compress_ptr cinfo)
{
	(void)cinfo;
}

/* Give up: the rewritten file has become far larger than the original. */
static boolean destination_full(j_compress_ptr cinfo)
{
	ERREXIT(cinfo, JERR_BUFFER_SIZE);
	return FALSE;
}

static void write_orientation(j_compress_ptr cinfo, unsigned orientation)
{
	/* A directory of one entry: tag 0x112, SHORT, one value. */
	JOCTET exif[] = "Exif\0\0MM\0\x2A\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0\0\0\0";
	exif[25] = (JOCTET)orientation;
	if (orientation != 1)
		jpeg_write_marker(cinfo, JPEG_APP0 + 1, exif, sizeof(exif));
}

int rewrite_run(struct rewrite *rewrite, struct jpeg_decompress_struct *from, unsigned orientation,
		struct buffer *out)
{
	struct jpeg_compress_struct *to = &rewrite->cinfo;
	jvirt_barray_ptr *coefficients = jpeg_read_coefficients(from);
	if (!coefficients || from->err->num_warnings > 0 || jpeg_is_smoothed(from))
		return DECODE_E_CORRUPT;
	to->err = from->err;
	jpeg_create_compress(to);
	to->client_data = from->client_data;
	to->mem->access_virt_barray = from->mem->access_virt_barray; /* they are its arrays */
	rewrite->destination = (struct jpeg_destination_mgr){
		.next_output_byte = out->data,
		.free_in_buffer = out->capacity,
		.init_destination = destination_nothing,
		.empty_output_buffer = destination_full,
		.term_destination = destination_nothing,
	};
	to->dest = &rewrite->destination;
	jpeg_copy_critical_parameters(from, to);
	to->arith_code = FALSE;
	to->optimize_coding = TRUE;
	jpeg_write_coefficients(to, coefficients);
	write_orientation(to, orientation);
	jpeg_finish_compress(to);
	out->size = out->capacity - rewrite->destination.free_in_buffer;
	return 0;
}

void rewrite_deinit(struct rewrite *rewrite)
{
	jpeg_destroy_compress(&rewrite->cinfo);
	*rewrite = REWRITE_NULL;
}
