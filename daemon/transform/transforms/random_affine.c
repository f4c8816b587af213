// SPDX-License-Identifier: MIT
/*
 * RandomAffine: torchvision's. Draws, with in(n, a, b) = a + uniform(n) * (b - a):
 *	angle = in(0, degrees)
 *	x = round(in(1, -most, most)) with most = translate[0] * width, y of draw 2 with the height,
 *		halves to even
 *	scale = in(3, scale), shear along x = in(4, shear), along y in(5, ...)
 * A parameter that is None is not drawn. sin and cos are transform/portable_math.h's; sums are in
 * torchvision's order.
 */
#include "transform/draws.h"
#include "transform/portable_math.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { DEGREES, TRANSLATE, SCALE, SHEAR, INTERPOLATION, FILL, CENTER };

#define RADIANS (0x1.921fb54442d18p+1 / 180.0) /* of a degree: pi / 180 */

struct affine {
	double angle, shear[2]; /* radians */
	double translate[2], scale, center[2];
};

static double tangent(double x)
{
	return portable_sin(x) / portable_cos(x);
}

/* torchvision's _get_inverse_affine_matrix. */
static void affine_matrix(const struct affine *affine, double out[6])
{
	const double rot = affine->angle, sx = affine->shear[0], sy = affine->shear[1];
	const double x = affine->center[0], y = affine->center[1];
	double a = portable_cos(rot - sy) / portable_cos(sy);
	double b = -portable_cos(rot - sy) * tangent(sx) / portable_cos(sy) - portable_sin(rot);
	double c = portable_sin(rot - sy) / portable_cos(sy);
	double d = -portable_sin(rot - sy) * tangent(sx) / portable_cos(sy) + portable_cos(rot);
	const double inverse[6] = {d, -b, 0.0, -c, a, 0.0};
	for (int i = 0; i < 6; i++)
		out[i] = inverse[i] / affine->scale;
	out[2] += out[0] * (-x - affine->translate[0]) + out[1] * (-y - affine->translate[1]);
	out[5] += out[3] * (-x - affine->translate[0]) + out[4] * (-y - affine->translate[1]);
	out[2] += x;
	out[5] += y;
}

static struct affine affine_draw(const struct parameter *values, const struct draws *draws,
				 const int32_t size[2])
{
	const struct parameter *translate = &values[TRANSLATE], *shear = &values[SHEAR];
	struct affine affine = {.scale = 1.0};
	affine.angle = draws_between(draws, 0, values[DEGREES].number) * RADIANS;
	for (uint32_t i = 0; i < translate->count; i++) {
		double most = translate->number[i] * size[i];
		const double range[2] = {-most, most};
		affine.translate[i] = round_even(draws_between(draws, 1 + i, range));
	}
	if (values[SCALE].count)
		affine.scale = draws_between(draws, 3, values[SCALE].number);
	for (uint32_t i = 0; i < shear->count / 2; i++)
		affine.shear[i] =
			draws_between(draws, 4 + i, &shear->number[2 * (size_t)i]) * RADIANS;
	for (int i = 0; i < 2; i++)
		affine.center[i] = values[CENTER].count ? values[CENTER].number[i] : size[i] * 0.5;
	return affine;
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	const struct parameter *values = transform->values;
	const struct affine affine = affine_draw(values, draws, steps->size);
	double matrix[6];
	(void)fault;
	affine_matrix(&affine, matrix);
	steps_add_affine(steps, steps->size[0], steps->size[1], matrix,
			 warp_look_of(&values[INTERPOLATION], &values[FILL]));
	return 0;
}

const struct transform_row transform_random_affine = {
	.name = "RandomAffine",
	.parameters =
		{
			[DEGREES] = COMMON_DEGREES,
			[TRANSLATE] = {.name = "translate",
				       .type = PARAMETER_PAIR,
				       .optional = true,
				       .most = 1},
			[SCALE] = {.name = "scale",
				   .type = PARAMETER_INTERVAL,
				   .optional = true,
				   .least = 0.0001,
				   .most = 10000},
			/* Not near 90 degrees, where nothing is left to see. */
			[SHEAR] = {.name = "shear",
				   .type = PARAMETER_SHEAR,
				   .optional = true,
				   .least = -89,
				   .most = 89},
			[INTERPOLATION] = COMMON_WARP_FILTER(FILTER_NEAREST),
			[FILL] = COMMON_FILL,
			[CENTER] = COMMON_CENTER,
		},
	.draw = draw,
	.pictures_only = true,
};
