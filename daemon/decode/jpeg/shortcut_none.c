// SPDX-License-Identifier: MIT
/* Without jpegint.h: no picture has a shortcut. */
#include "decode/jpeg/shortcut.h"

#include "decode/jpeg/seek_index.h"

const bool shortcut_built_in = false;

int shortcut_new(struct shortcut **out)
{
	*out = NULL;
	return 0;
}

void shortcut_free(struct shortcut *shortcut)
{
	(void)shortcut;
}

void shortcut_trim(struct shortcut *shortcut, size_t keep)
{
	(void)shortcut, (void)keep;
}

bool shortcut_find(struct shortcut *shortcut, const struct jpeg_decompress_struct *cinfo,
		   const struct codec_input *input, const struct decode_origin *origin,
		   struct rect need)
{
	(void)shortcut, (void)cinfo, (void)input, (void)origin, (void)need;
	return false;
}

int shortcut_shrink(struct shortcut *shortcut, struct jpeg_decompress_struct *cinfo,
		    struct rect *part_out)
{
	(void)shortcut, (void)cinfo, (void)part_out;
	return SEEK_INDEX_E_INDEX;
}

void shortcut_enter(struct shortcut *shortcut, struct jpeg_decompress_struct *cinfo)
{
	(void)shortcut, (void)cinfo;
}

void shortcut_forget(struct shortcut *shortcut, const struct decode_origin *origin)
{
	(void)shortcut, (void)origin;
}
