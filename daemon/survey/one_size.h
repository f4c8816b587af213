/* SPDX-License-Identifier: MIT */
/*
 * The size that all pictures of a dataset of files have, found out from some of them: without a
 * transform that gives pictures one size, it is the size in which they come out. Which of them are
 * looked at depends on their number alone. Reads files: blocks; any thread. A picture of another
 * size that it did not meet is a bad sample later.
 */
#ifndef STOKER_SURVEY_ONE_SIZE_H
#define STOKER_SURVEY_ONE_SIZE_H

#include "base/fault.h"
#include "dataset/dataset.h"
#include "decode/decode.h"

struct one_size {
	int32_t width, height; /* 0: they have none; the words say why */
	uint32_t channels;     /* of the first that can be read as wide; 0: there is none */
	struct fault why;
	bool clips;	  /* a picture that was looked at is one of decoder_clips() ... */
	uint64_t clipped; /* ... this sample */
};

#define ONE_SIZE_LOOKS 16 /* so many pictures are looked at, from first to last */

/* `form`: they are read so. `looks`: at so many pictures. 0 or -ENOMEM. */
int one_size_find(struct one_size *out, const struct dataset *dataset,
		  const struct decode_limits *limits, size_t max_bytes, bool exif,
		  struct image_form form, uint64_t looks);

#endif
