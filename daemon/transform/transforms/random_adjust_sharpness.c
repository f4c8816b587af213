// SPDX-License-Identifier: MIT
/* RandomAdjustSharpness: applied if uniform(0) < p. Pillow's ImageEnhance.Sharpness: a blend of the
 * picture and its ImageFilter.SMOOTH, which looks at 3 x 3 pixels. */
#include <string.h>

#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/colours.h"
#include "transform/transforms/common_parameters.h"

enum { FACTOR, P };

/* The smoothed row `y` of the picture to `made`. Pillow copies pixels at the edges. */
static void smooth_row(const struct paint *paint, int32_t y, uint8_t *made)
{
	const struct image *image = paint->image;
	const struct rect *wanted = &paint->wanted;
	const size_t stride = image->stride;
	const uint8_t *row = paint_pixel(paint, wanted->x, y);
	memcpy(made, row, paint->bytes);
	if (image->width < 3 || image->height < 3 || y == 0 || y == image->height - 1)
		return;
	bool left = wanted->x > 0, right = wanted->x + wanted->width < image->width;
	/* The loop copies its first and last pixel: those beside the wanted ones, if there are. */
	size_t before = left ? COLOUR_CHANNELS : 0, after = right ? COLOUR_CHANNELS : 0;
	size_t bytes = paint->bytes + before + after;
	uint8_t *line = made + paint->bytes;
	if (bytes < 3 * COLOUR_CHANNELS)
		return;
	row -= before;
	paint->rows->smooth(line, row - stride, row, row + stride, bytes);
	memcpy(made, line + before, paint->bytes);
}

static int paint(const struct paint *paint)
{
	uint8_t *made = paint->scratch->data;
	for (int32_t y = 0; y < paint->wanted.height; y++) {
		smooth_row(paint, paint->wanted.y + y, made);
		paint->rows->blend(paint_out(paint, y), made, paint_row(paint, y),
				   (float)paint->colour->amount[0], paint->bytes);
	}
	return 0;
}

void colour_add_sharpness(struct steps *steps, double factor)
{
	steps_add_colour(steps, paint, 1, factor);
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	(void)fault;
	if (draws_chance(draws, transform->values[P].number[0]))
		colour_add_sharpness(steps, transform->values[FACTOR].number[0]);
	return 0;
}

const struct transform_row transform_random_adjust_sharpness = {
	.name = "RandomAdjustSharpness",
	.parameters =
		{
			[FACTOR] = {.name = "sharpness_factor",
				    .type = PARAMETER_NUMBER,
				    .required = true,
				    .least = 0,
				    .most = 1e6},
			[P] = COMMON_P(0.5),
		},
	.draw = draw,
	.pictures_only = true,
};
