// SPDX-License-Identifier: MIT
/* In place of indexed_decode.c where jpegint.h is not installed: no picture has a seek index. */
#include "decode/jpeg/indexed_decode.h"

#include "decode/jpeg/seek_index.h"

const bool indexed_decode_built_in = false;

int indexed_decode_new(struct indexed_decode **out)
{
	*out = NULL;
	return 0;
}

void indexed_decode_free(struct indexed_decode *indexed)
{
	(void)indexed;
}

void indexed_decode_trim(struct indexed_decode *indexed, size_t keep)
{
	(void)indexed, (void)keep;
}

bool indexed_decode_find(struct indexed_decode *indexed, const struct jpeg_decompress_struct *cinfo,
			 const struct codec_input *input, struct rect need)
{
	(void)indexed, (void)cinfo, (void)input, (void)need;
	return false;
}

int indexed_decode_crop(struct indexed_decode *indexed, struct jpeg_decompress_struct *cinfo,
			struct rect *part_out)
{
	(void)indexed, (void)cinfo, (void)part_out;
	return SEEK_INDEX_E_INDEX;
}

void indexed_decode_attach(struct indexed_decode *indexed, struct jpeg_decompress_struct *cinfo)
{
	(void)indexed, (void)cinfo;
}

void indexed_decode_discard(struct indexed_decode *indexed)
{
	(void)indexed;
}
