// SPDX-License-Identifier: MIT
/* sin and cos are transform/portable_math.h's; sums are in Pillow's order. */
#include "transform/transforms/rotate.h"

#include <math.h>
#include <string.h>

#include "transform/draws.h"
#include "transform/portable_math.h"

#define RADIANS (0x1.921fb54442d18p+1 / 180.0) /* of a degree: pi / 180 */

/* As Python's round(number, 15), for numbers from -1 to 1. The exact product is rounded: the double
 * closest to it may be a half although it is not. */
static double round_15(double number)
{
	double product = number * 1e15, error = fma(number, 1e15, -product);
	double whole = round_even(product);
	if (product - whole == 0.5 && error > 0.0)
		whole += 1.0;
	else if (product - whole == -0.5 && error < 0.0)
		whole -= 1.0;
	return whole / 1e15;
}

static void matrix_apply(const double a[6], double x, double y, double out[2])
{
	out[0] = a[0] * x + a[1] * y + a[2];
	out[1] = a[3] * x + a[4] * y + a[5];
}

/* The size that shows all of the rotated picture, and the matrix about its middle. */
static void matrix_expand(double a[6], double size[2])
{
	double least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY}, wide[2], at[2];
	for (int corner = 0; corner < 4; corner++) {
		matrix_apply(a, corner & 1 ? size[0] : 0.0, corner & 2 ? size[1] : 0.0, at);
		for (int i = 0; i < 2; i++) {
			least[i] = fmin(least[i], at[i]);
			most[i] = fmax(most[i], at[i]);
		}
	}
	for (int i = 0; i < 2; i++)
		wide[i] = ceil(most[i]) - floor(least[i]);
	matrix_apply(a, -(wide[0] - size[0]) / 2.0, -(wide[1] - size[1]) / 2.0, at);
	a[2] = at[0];
	a[5] = at[1];
	memcpy(size, wide, sizeof(wide));
}

/* The rotations, about the middle, that only move pixels; `degrees` is from 0 to below 360. */
static bool add_plain(struct steps *steps, double degrees, bool expand, struct warp_look look)
{
	const int32_t width = steps->size[0], height = steps->size[1];
	const double to_left[6] = {0, -1, width, 1, 0, 0}, to_right[6] = {0, 1, 0, -1, 0, height};
	bool left = degrees == 90.0, right = degrees == 270.0;
	if (degrees == 180.0)
		steps_add_flip(steps, true, true);
	look.filter = FILTER_NEAREST;
	bool turned = (left || right) && (expand || width == height);
	if (turned)
		steps_add_affine(steps, height, width, left ? to_left : to_right, look);
	return turned || degrees == 0.0 || degrees == 180.0;
}

int rotate_add(struct steps *steps, double degrees, const double *center, bool expand,
	       struct warp_look look, struct fault *fault)
{
	double size[2] = {steps->size[0], steps->size[1]}, middle[2] = {size[0] / 2, size[1] / 2};
	degrees = fmod(degrees, 360.0);
	if (degrees < 0.0)
		degrees += 360.0;
	if (!center && add_plain(steps, degrees, expand, look))
		return 0;
	if (!center)
		center = middle;
	double angle = -(degrees * RADIANS), at[2];
	double cosine = round_15(portable_cos(angle)), sine = round_15(portable_sin(angle));
	double a[6] = {cosine, sine, 0.0, -sine, cosine, 0.0};
	matrix_apply(a, -center[0], -center[1], at);
	a[2] = at[0] + center[0];
	a[5] = at[1] + center[1];
	if (expand)
		matrix_expand(a, size);
	if (size[0] > STEPS_EDGE_MAX || size[1] > STEPS_EDGE_MAX)
		return steps_say_large(steps, "RandomRotation", fault);
	steps_add_affine(steps, (int32_t)size[0], (int32_t)size[1], a, look);
	return 0;
}
