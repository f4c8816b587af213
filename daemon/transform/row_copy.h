/* SPDX-License-Identifier: MIT */
/*
 * Copies rows of pixels as an axis map says. The map's pixels are a few runs that go forward,
 * backward or are a fill; they are found once for a picture, and a row is then a few copies. Owns
 * its runs, whose memory is reused for the next picture; a worker's thread.
 */
#ifndef STOKER_TRANSFORM_ROW_COPY_H
#define STOKER_TRANSFORM_ROW_COPY_H

#include "base/cpu.h"
#include "transform/axis_map.h"

struct run {
	int32_t x, count;
	int32_t from;	  /* the source's pixel that its first pixel is */
	int8_t direction; /* 1 or -1 */
	uint8_t fill;	  /* as in struct axis_map */
};

struct row_copy {
	int32_t count;
	struct run *runs;
	struct buffer memory; /* holds them */
};
#define ROW_COPY_NULL ((struct row_copy){0})

int row_copy_begin(struct row_copy *copy, const struct axis_map *map); /* 0 or -ENOMEM */

/*
 * Copy a row of `source`, whose first pixel is pixel `left` of the map's source, to `to`. Fills are
 * those of `steps`: of a run's fill and `row_fill`, which is the row's own, the later step is seen.
 * Both rows have BUFFER_SLACK behind them; that of `to` may be written.
 */
void row_copy_run(const struct row_copy *copy, enum cpu cpu, const uint8_t *source, int32_t left,
		  uint8_t row_fill, const struct step *steps, uint8_t *to);
void row_copy_deinit(struct row_copy *copy);

#endif
