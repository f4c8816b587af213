/* SPDX-License-Identifier: MIT */
/*
 * A mover: moves rows of pixels along a track. What a track says pixel by pixel is a few runs that
 * go forward, backward or nowhere (a fill), found once for a picture; a row is then a few copies.
 * Owns its runs, whose memory is reused from picture to picture; a worker's thread.
 */
#ifndef STOKER_TRANSFORM_ROW_COPY_H
#define STOKER_TRANSFORM_ROW_COPY_H

#include "base/cpu.h"
#include "transform/axis_map.h"

struct run {
	int32_t x, count;
	int32_t from; /* the pixel of the source that its first one is */
	int8_t way;   /* 1 or -1 */
	uint8_t fill; /* as in struct track */
};

struct row_copy {
	int32_t count;
	struct run *runs;
	struct buffer memory; /* holds them */
};
#define ROW_COPY_NULL ((struct row_copy){0})

int row_copy_begin(struct row_copy *copy, const struct axis_map *map); /* 0 or -ENOMEM */

/*
 * A row of `source`, whose first pixel is pixel `left` of the track's source, to `to`. Where
 * `beside`, or a run's fill if that is a later one, is a step, its fill is seen: `steps` has them.
 * Both rows have BUFFER_SLACK; that of `to` may be written.
 */
void row_copy_run(const struct row_copy *copy, enum cpu cpu, const uint8_t *source, int32_t left,
		  uint8_t beside, const struct step *steps, uint8_t *to);
void row_copy_deinit(struct row_copy *copy);

#endif
