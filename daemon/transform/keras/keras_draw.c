// SPDX-License-Identifier: MIT
/*
 * Draws of ImageDataGenerator, and the matrix that they make: float64, each operation as in NumPy,
 * sin and cos from transform/portable_math.h. With from(n, low, high) = low + (high - low) *
 * uniform(n); a value without a range is not drawn:
 *
 * - theta = from(0, -rotation_range, rotation_range)
 * - tx, of height_shift_range: a float: from(1, -range, range); a whole number: below(1, range), a
 *   list: its number below(1, count), both negative if below(2, 2) is 0; of a float and a list
 *   times the height, if the largest number of the range is below 1
 * - ty, of width_shift_range: as tx, with draws 3 and 4, and the width
 * - shear = from(5, -shear_range, shear_range)
 * - zx = from(6, zoom_range[0], zoom_range[1]), zy = from(7, ...), unless both are 1
 * - flipped horizontally if uniform(8) < 0.5, vertically if uniform(9) < 0.5
 * - channel shift = from(10, -channel_shift_range, channel_shift_range)
 * - brightness = from(11, brightness_range[0], brightness_range[1])
 */
#include <math.h>
#include <string.h>

#include "transform/keras/keras.h"
#include "transform/portable_math.h"

#define DEGREE 0x1.1df46a2529d39p-6 /* pi / 180 */

enum {
	DRAW_THETA = 0,
	DRAW_SHIFT = 1, /* and 2; 3 and 4 */
	DRAW_SHEAR = 5,
	DRAW_ZOOM = 6, /* and 7 */
	DRAW_FLIP = 8, /* and 9 */
	DRAW_CHANNEL_SHIFT = 10,
	DRAW_BRIGHTNESS = 11,
};

static double from(const struct draws *draws, uint32_t number, double low, double high)
{
	return low + (high - low) * draws_uniform(draws, number);
}

static double draw_shift(const struct parameter *range, const struct draws *draws, uint32_t number,
			 int32_t edge)
{
	double shift, most = range->number[0];
	if (range->form == PARAMETER_FORM_FRACTION) {
		if (most == 0.0)
			return 0.0;
		shift = from(draws, number, -most, most);
		return most < 1.0 ? shift * edge : shift;
	}
	if (range->form == PARAMETER_FORM_WHOLE) {
		if (most == 0.0)
			return 0.0;
		shift = (double)draws_below(draws, number, (int32_t)most);
		return draws_below(draws, number + 1, 2) == 0 ? -shift : shift;
	}
	for (unsigned i = 1; i < range->count; i++)
		most = fmax(most, range->number[i]);
	shift = range->number[draws_below(draws, number, (int32_t)range->count)];
	if (draws_below(draws, number + 1, 2) == 0)
		shift = -shift;
	return most < 1.0 ? shift * edge : shift;
}

void keras_draw(const struct keras *keras, const struct draws *draws, int32_t height, int32_t width,
		struct keras_draw *out)
{
	*out = (struct keras_draw){.zx = 1.0, .zy = 1.0};
	if (keras->rotation != 0.0)
		out->theta = from(draws, DRAW_THETA, -keras->rotation, keras->rotation);
	out->tx = draw_shift(&keras->shift[0], draws, DRAW_SHIFT, height);
	out->ty = draw_shift(&keras->shift[1], draws, DRAW_SHIFT + 2, width);
	if (keras->shear != 0.0)
		out->shear = from(draws, DRAW_SHEAR, -keras->shear, keras->shear);
	if (keras->zoom[0] != 1.0 || keras->zoom[1] != 1.0) {
		out->zx = from(draws, DRAW_ZOOM, keras->zoom[0], keras->zoom[1]);
		out->zy = from(draws, DRAW_ZOOM + 1, keras->zoom[0], keras->zoom[1]);
	}
	for (uint32_t i = 0; i < 2; i++)
		out->flip[i] = keras->flips[i] && draws_uniform(draws, DRAW_FLIP + i) < 0.5;
	if (keras->channel_shift != 0.0)
		out->channel_shift = from(draws, DRAW_CHANNEL_SHIFT, -keras->channel_shift,
					  keras->channel_shift);
	if (keras->brightens)
		out->brightness =
			from(draws, DRAW_BRIGHTNESS, keras->brightness[0], keras->brightness[1]);
}

/* The upper two rows of a 3 x 3 matrix; the third is 0 0 1. */
struct matrix {
	double m[2][3];
};

static struct matrix product(const struct matrix *a, const struct matrix *b)
{
	struct matrix c;
	for (int i = 0; i < 2; i++) {
		for (int j = 0; j < 3; j++)
			c.m[i][j] = a->m[i][0] * b->m[0][j] + a->m[i][1] * b->m[1][j];
		c.m[i][2] += a->m[i][2];
	}
	return c;
}

void keras_matrix(const struct keras *keras, const struct keras_draw *draw, int32_t height,
		  int32_t width, struct keras_warp *out)
{
	struct matrix matrix = {{{1, 0, 0}, {0, 1, 0}}};
	if (draw->theta != 0.0) {
		double sine = portable_sin(draw->theta * DEGREE);
		double cosine = portable_cos(draw->theta * DEGREE);
		matrix = (struct matrix){{{cosine, -sine, 0}, {sine, cosine, 0}}};
	}
	const struct matrix shift = {{{1, 0, draw->tx}, {0, 1, draw->ty}}};
	matrix = product(&matrix, &shift);
	if (draw->shear != 0.0) {
		double angle = draw->shear * DEGREE;
		const struct matrix shear = {
			{{1, -portable_sin(angle), 0}, {0, portable_cos(angle), 0}}};
		matrix = product(&matrix, &shear);
	}
	const struct matrix zoom = {{{draw->zx, 0, 0}, {0, draw->zy, 0}}};
	matrix = product(&matrix, &zoom);
	/* About the picture's middle. */
	double x = height / 2.0 - 0.5, y = width / 2.0 - 0.5;
	const struct matrix there = {{{1, 0, x}, {0, 1, y}}}, back = {{{1, 0, -x}, {0, 1, -y}}};
	matrix = product(&there, &matrix);
	matrix = product(&matrix, &back);
	/* Keras then swaps the axes. */
	*out = (struct keras_warp){
		.m = {{matrix.m[1][1], matrix.m[1][0], matrix.m[1][2]},
		      {matrix.m[0][1], matrix.m[0][0], matrix.m[0][2]}},
		.flip = {draw->flip[0], draw->flip[1]},
		.fill = keras->fill,
		.cval = keras->cval,
	};
}
