// SPDX-License-Identifier: MIT
/*
 * Mosaic: KerasCV's and Ultralytics': four samples of one size meet in a point, each with a corner
 * of its own there, and the mosaic is as large as each. Sample c of position p is position p ^ c,
 * so that in each group of four every sample comes once into every corner. Draws, of the position,
 *	x = trunc(width * between(0, offset)), y = trunc(height * between(1, offset)).
 */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/detection/tile.h"

enum { COUNT, OFFSET };

static void meet(const struct transform *transform, const struct draws *draws, int32_t width,
		 int32_t height, int32_t point_out[2])
{
	const double *offset = transform->values[OFFSET].number;
	point_out[0] = (int32_t)(width * draws_between(draws, 0, offset));
	point_out[1] = (int32_t)(height * draws_between(draws, 1, offset));
}

const struct transform_row transform_mosaic = {
	.name = "Mosaic",
	.parameters =
		{
			[COUNT] = {.name = "n",
				   .type = PARAMETER_WHOLE,
				   .least = TILES,
				   .most = TILES,
				   .standard = {1, {TILES}}},
			[OFFSET] = {.name = "offset",
				    .type = PARAMETER_INTERVAL,
				    .least = 0,
				    .most = 1,
				    .standard = {2, {0.25, 0.75}}},
		},
	.meet = meet,
};
