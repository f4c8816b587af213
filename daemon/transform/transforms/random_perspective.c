// SPDX-License-Identifier: MIT
/*
 * RandomPerspective: torchvision's. Draws: if uniform(0) < p, the corners, clockwise from the top
 * left, x before y, of 1 to 8: below(n, reach + 1) pixels towards the inside of the picture, or on
 * its right and lower edges reach - below(n, reach + 1); reach = trunc(scale * trunc(edge / 2)).
 *
 * The eight numbers of the mapping are worked out in float64 and rounded to float32, as later
 * versions of torchvision do; earlier ones solve in float32, which differs a little for small
 * pictures. Where the drawn corners enclose no area, as in a picture one pixel wide, the picture
 * stays as it is.
 */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { DISTORTION_SCALE, P, INTERPOLATION, FILL };

/* Corners: is one on the right edge, and is it on the lower one? */
static const int32_t corners[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};

/*
 * The eight numbers that map the corners `to` back to those of a picture of this size: the inverse
 * of Heckbert's mapping of the unit square. False where the four enclose no area, which is exact,
 * for they are whole numbers.
 */
static bool perspective_solve(double to[4][2], double width, double height, double out[8])
{
	double p[2][2], q[2], s[2];
	for (int i = 0; i < 2; i++) {
		p[0][i] = to[1][i] - to[2][i];
		p[1][i] = to[3][i] - to[2][i];
		s[i] = to[0][i] - to[1][i] + to[2][i] - to[3][i];
	}
	double area = p[0][0] * p[1][1] - p[1][0] * p[0][1];
	if (area == 0.0)
		return false;
	q[0] = (s[0] * p[1][1] - p[1][0] * s[1]) / area;
	q[1] = (p[0][0] * s[1] - s[0] * p[0][1]) / area;
	double a = to[1][0] - to[0][0] + q[0] * to[1][0];
	double b = to[3][0] - to[0][0] + q[1] * to[3][0], c = to[0][0];
	double d = to[1][1] - to[0][1] + q[0] * to[1][1];
	double e = to[3][1] - to[0][1] + q[1] * to[3][1], f = to[0][1];
	double last = a * e - b * d;
	if (last == 0.0)
		return false;
	out[0] = width * (e - f * q[1]) / last;
	out[1] = width * (c * q[1] - b) / last;
	out[2] = width * (b * f - c * e) / last;
	out[3] = height * (f * q[0] - d) / last;
	out[4] = height * (a - c * q[0]) / last;
	out[5] = height * (c * d - a * f) / last;
	out[6] = (d * q[1] - e * q[0]) / last;
	out[7] = (b * q[0] - a * q[1]) / last;
	return true;
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	const struct parameter *values = transform->values;
	const double scale = values[DISTORTION_SCALE].number[0];
	const int32_t *size = steps->size;
	double to[4][2], numbers[8];
	(void)fault;
	if (!draws_chance(draws, values[P].number[0]))
		return 0;
	for (uint32_t n = 0; n < 8; n++) {
		uint32_t corner = n / 2, i = n % 2;
		int32_t reach = (int32_t)(scale * (size[i] / 2));
		int32_t first = corners[corner][i] ? size[i] - reach - 1 : 0;
		to[corner][i] = first + draws_below(draws, 1 + n, reach + 1);
	}
	if (!perspective_solve(to, size[0] - 1, size[1] - 1, numbers))
		return 0;
	struct warp *warp = steps_add_warp(steps, size[0], size[1],
					   warp_look_of(&values[INTERPOLATION], &values[FILL]));
	warp->kind = WARP_PERSPECTIVE;
	for (int i = 0; i < 8; i++)
		warp->a[i] = (float)numbers[i];
	return 0;
}

const struct transform_row transform_random_perspective = {
	.name = "RandomPerspective",
	.parameters =
		{
			[DISTORTION_SCALE] = {.name = "distortion_scale",
					      .type = PARAMETER_NUMBER,
					      .most = 1,
					      .standard = {1, {0.5}}},
			[P] = COMMON_P(0.5),
			[INTERPOLATION] = COMMON_WARP_FILTER(FILTER_BILINEAR),
			[FILL] = COMMON_FILL,
		},
	.draw = draw,
	.pictures_only = true,
};
