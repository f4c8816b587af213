/* SPDX-License-Identifier: MIT */
/*
 * A sheet of pictures of one size in rows and columns, a few words below each. Plain memory.
 */
#ifndef STOKER_CTL_SHEET_H
#define STOKER_CTL_SHEET_H

#include "client/ctl/picture.h"

struct sheet {
	struct picture picture; /* of all of it, white where nothing was put */
	uint8_t *pixels;	/* of it; owned */
	uint32_t width, height; /* of one picture */
	uint32_t cell_width, cell_height;
};

/* 0, -EINVAL (too large for a file that anything can show) or -ENOMEM. */
int sheet_init(struct sheet *out, uint64_t rows, uint64_t columns, uint32_t width, uint32_t height,
	       uint32_t channels, struct fault *fault);
void sheet_deinit(struct sheet *sheet);

/* Of `text` what is an English letter, a digit or stands in numbers is written, as capitals, as
 * much as there is room for. */
void sheet_put(struct sheet *sheet, uint64_t row, uint64_t column, const uint8_t *pixels,
	       const char *text);

#endif
