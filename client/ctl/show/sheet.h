/* SPDX-License-Identifier: MIT */
/*
 * A sheet of images of one size in rows and columns, each with a short text below. Plain memory.
 */
#ifndef STOKER_CTL_SHEET_H
#define STOKER_CTL_SHEET_H

#include "client/ctl/show/picture.h"

struct sheet {
	struct picture picture; /* the whole sheet, white where it is empty */
	uint8_t *pixels;	/* its pixels; owned */
	uint32_t width, height; /* of one image */
	uint32_t cell_width, cell_height;
};

/* 0, -EINVAL (above 1 GiB, too large to view) or -ENOMEM. */
int sheet_init(struct sheet *out, uint64_t rows, uint64_t columns, uint32_t width, uint32_t height,
	       uint32_t channels, struct fault *fault);
void sheet_deinit(struct sheet *sheet);

/* Put an image and its text in a cell. The text is written in capitals, as far as it fits; only
 * letters of ASCII, digits and "-+._/" are shown. */
void sheet_put(struct sheet *sheet, uint64_t row, uint64_t column, const uint8_t *pixels,
	       const char *text);

#endif
