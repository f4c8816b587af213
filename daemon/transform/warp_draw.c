// SPDX-License-Identifier: MIT
/*
 * Drawn, as geometry.c says it; in(a, b) of draw n is a + uniform(n) * (b - a):
 *	RandomRotation: by in(degrees) of draw 0
 *	RandomAffine: angle = in(degrees) of 0; x = round(in(-most, most)) of 1 with most =
 *		translate[0] * width, y of 2 with the height, halves to even; scale = in(scale) of
 *		3; shear along x = in(shear) of 4, along y of 5
 *	RandomPerspective: if uniform(0) < p, the corners, clockwise from the top left, x before y,
 *		of 1 to 8: below(n, reach + 1) further inside the picture or, on its right and lower
 *		edges, reach - below(n, reach + 1); reach = trunc(scale * trunc(edge / 2))
 *
 * What is not given is not drawn. The eight numbers of a perspective are found in double precision
 * and rounded to float32, as later versions of torchvision do it; those that solve in float32 bend
 * a small picture a little otherwise. Where the drawn corners make no area, as in a picture one
 * pixel wide, the picture stays as it is. sin and cos are base/exact.h's; matrices are added up in
 * torchvision's and Pillow's order.
 */
#include "transform/warp_draw.h"

#include <math.h>
#include <string.h>

#include "base/exact.h"

#define RADIANS (0x1.921fb54442d18p+1 / 180.0) /* of a degree: pi / 180 */

static double drawn_in(const struct draws *draws, uint32_t number, const double interval[2])
{
	return interval[0] + uniform(draws, number) * (interval[1] - interval[0]);
}

struct warp_look warp_look(const struct parameter *filter, const struct parameter *fill)
{
	struct warp_look look = {.filter = (enum filter)filter->number[0]};
	for (int i = 0; i < 3; i++)
		look.fill[i] = (uint8_t)fill->number[i];
	return look;
}

static struct warp *warp_add(struct steps *steps, int32_t width, int32_t height,
			     struct warp_look look)
{
	struct warp *warp = &step_add(steps, STEP_WARP, width, height)->warp;
	warp->filter = look.filter;
	warp->size[0] = width;
	warp->size[1] = height;
	memcpy(warp->fill, look.fill, sizeof(warp->fill));
	return warp;
}

static void matrix_add(struct steps *steps, int32_t width, int32_t height,
		       const double matrix[6], struct warp_look look)
{
	struct warp *warp = warp_add(steps, width, height, look);
	warp->kind = WARP_AFFINE;
	memcpy(warp->a, matrix, 6 * sizeof(*matrix));
}

void warp_add_matrix(struct steps *steps, const double matrix[6], struct warp_look look)
{
	matrix_add(steps, steps->size[0], steps->size[1], matrix, look);
}

/* --- RandomRotation: Pillow's Image.rotate --- */

struct turn {
	double degrees; /* from 0 to below 360 */
	double centre[2];
	bool centred; /* a centre was said */
	bool expand;
};

/* As Python's round(number, 15), for numbers from -1 to 1: to the nearest of it, not of the
 * product, which may be a half only because it was rounded itself. */
static double round_15(double number)
{
	double product = number * 1e15, left = fma(number, 1e15, -product);
	double whole = round_even(product);
	if (product - whole == 0.5 && left > 0.0)
		whole += 1.0;
	else if (product - whole == -0.5 && left < 0.0)
		whole -= 1.0;
	return whole / 1e15;
}

static void matrix_at(const double a[6], double x, double y, double at[2])
{
	at[0] = a[0] * x + a[1] * y + a[2];
	at[1] = a[3] * x + a[4] * y + a[5];
}

/* So that the whole of the turned picture is seen: its size, and the matrix about its middle. */
static void turn_expand(double a[6], double size[2])
{
	double least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY}, wide[2], at[2];
	for (int corner = 0; corner < 4; corner++) {
		matrix_at(a, corner & 1 ? size[0] : 0.0, corner & 2 ? size[1] : 0.0, at);
		for (int i = 0; i < 2; i++) {
			least[i] = fmin(least[i], at[i]);
			most[i] = fmax(most[i], at[i]);
		}
	}
	for (int i = 0; i < 2; i++)
		wide[i] = ceil(most[i]) - floor(least[i]);
	matrix_at(a, -(wide[0] - size[0]) / 2.0, -(wide[1] - size[1]) / 2.0, at);
	a[2] = at[0];
	a[5] = at[1];
	memcpy(size, wide, sizeof(wide));
}

/* The turns that only move pixels. */
static bool turn_plain(struct steps *steps, const struct turn *turn, struct warp_look look)
{
	const int32_t width = steps->size[0], height = steps->size[1];
	if (turn->centred)
		return false;
	if (turn->degrees == 0.0)
		return true;
	if (turn->degrees == 180.0) {
		struct step *step = step_add(steps, STEP_FLIP, width, height);
		step->axis[0].flip = step->axis[1].flip = true;
		return true;
	}
	bool left = turn->degrees == 90.0;
	if (!(left || turn->degrees == 270.0) || !(turn->expand || width == height))
		return false;
	const double to_left[6] = {0, -1, width, 1, 0, 0}, to_right[6] = {0, 1, 0, -1, 0, height};
	look.filter = FILTER_NEAREST;
	matrix_add(steps, height, width, left ? to_left : to_right, look);
	return true;
}

static int turn_add(struct steps *steps, const struct turn *turn, struct warp_look look,
		    struct fault *fault)
{
	if (turn_plain(steps, turn, look))
		return 0;
	double angle = -(turn->degrees * RADIANS), at[2];
	double cosine = round_15(exact_cos(angle)), sine = round_15(exact_sin(angle));
	double a[6] = {cosine, sine, 0.0, -sine, cosine, 0.0};
	double size[2] = {steps->size[0], steps->size[1]};
	matrix_at(a, -turn->centre[0], -turn->centre[1], at);
	a[2] = at[0] + turn->centre[0];
	a[5] = at[1] + turn->centre[1];
	if (turn->expand)
		turn_expand(a, size);
	if (size[0] > STEPS_EDGE_MAX || size[1] > STEPS_EDGE_MAX)
		return fault_say(fault, STEPS_E_IMAGE,
				 "RandomRotation makes a picture of %d x %d more than %d pixels "
				 "wide or high",
				 steps->size[0], steps->size[1], STEPS_EDGE_MAX);
	matrix_add(steps, (int32_t)size[0], (int32_t)size[1], a, look);
	return 0;
}

static struct turn turn_of(const struct steps *steps, double degrees)
{
	struct turn turn = {.degrees = fmod(degrees, 360.0)};
	if (turn.degrees < 0.0)
		turn.degrees += 360.0;
	for (int i = 0; i < 2; i++)
		turn.centre[i] = steps->size[i] / 2.0;
	return turn;
}

void warp_add_turn(struct steps *steps, double degrees, struct warp_look look)
{
	const struct turn turn = turn_of(steps, degrees);
	turn_add(steps, &turn, look, NULL); /* in its own size nothing can be too large */
}

int warp_add_rotation(struct steps *steps, const struct transform *transform,
		      const struct draws *draws, struct fault *fault)
{
	const struct parameter *values = transform->values;
	const struct parameter *centre = &values[RANDOM_ROTATION_CENTER];
	struct turn turn =
		turn_of(steps, drawn_in(draws, 0, values[RANDOM_ROTATION_DEGREES].number));
	turn.expand = values[RANDOM_ROTATION_EXPAND].number[0] != 0.0;
	turn.centred = centre->count;
	if (turn.centred)
		memcpy(turn.centre, centre->number, sizeof(turn.centre));
	return turn_add(
		steps, &turn,
		warp_look(&values[RANDOM_ROTATION_INTERPOLATION], &values[RANDOM_ROTATION_FILL]),
		fault);
}

/* --- RandomAffine --- */

struct affine {
	double angle, shear[2]; /* radians */
	double translate[2], scale, centre[2];
};

static double tangent(double x)
{
	return exact_sin(x) / exact_cos(x);
}

/* torchvision's _get_inverse_affine_matrix, in its order. */
static void affine_matrix(const struct affine *affine, double out[6])
{
	const double rot = affine->angle, sx = affine->shear[0], sy = affine->shear[1];
	const double x = affine->centre[0], y = affine->centre[1];
	double a = exact_cos(rot - sy) / exact_cos(sy);
	double b = -exact_cos(rot - sy) * tangent(sx) / exact_cos(sy) - exact_sin(rot);
	double c = exact_sin(rot - sy) / exact_cos(sy);
	double d = -exact_sin(rot - sy) * tangent(sx) / exact_cos(sy) + exact_cos(rot);
	const double inverse[6] = {d, -b, 0.0, -c, a, 0.0};
	for (int i = 0; i < 6; i++)
		out[i] = inverse[i] / affine->scale;
	out[2] += out[0] * (-x - affine->translate[0]) + out[1] * (-y - affine->translate[1]);
	out[5] += out[3] * (-x - affine->translate[0]) + out[4] * (-y - affine->translate[1]);
	out[2] += x;
	out[5] += y;
}

static void affine_draw(struct affine *affine, const struct parameter *values,
			const struct draws *draws, const int32_t size[2])
{
	const struct parameter *translate = &values[RANDOM_AFFINE_TRANSLATE];
	const struct parameter *scale = &values[RANDOM_AFFINE_SCALE];
	const struct parameter *shear = &values[RANDOM_AFFINE_SHEAR];
	affine->angle = drawn_in(draws, 0, values[RANDOM_AFFINE_DEGREES].number) * RADIANS;
	for (uint32_t i = 0; i < translate->count; i++) {
		double most = translate->number[i] * size[i];
		const double reach[2] = {-most, most};
		affine->translate[i] = round_even(drawn_in(draws, 1 + i, reach));
	}
	affine->scale = scale->count ? drawn_in(draws, 3, scale->number) : 1.0;
	for (uint32_t i = 0; i < shear->count / 2; i++)
		affine->shear[i] = drawn_in(draws, 4 + i, &shear->number[2 * (size_t)i]) * RADIANS;
}

int warp_add_affine(struct steps *steps, const struct transform *transform,
		    const struct draws *draws, struct fault *fault)
{
	const struct parameter *values = transform->values;
	const struct parameter *centre = &values[RANDOM_AFFINE_CENTER];
	struct affine affine = {0};
	double matrix[6];
	(void)fault;
	affine_draw(&affine, values, draws, steps->size);
	for (int i = 0; i < 2; i++)
		affine.centre[i] = centre->count ? centre->number[i] : steps->size[i] * 0.5;
	affine_matrix(&affine, matrix);
	warp_add_matrix(
		steps, matrix,
		warp_look(&values[RANDOM_AFFINE_INTERPOLATION], &values[RANDOM_AFFINE_FILL]));
	return 0;
}

/* --- RandomPerspective --- */

/* Which corners of a picture are on its right edge, and which on its lower one. */
static const int32_t corners[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};

/*
 * The eight numbers that take the corners `to` back to those of a picture of this size, from
 * Heckbert's for the unit square, turned round. False where the four make no area: they are whole
 * numbers, so that is exact.
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

int warp_add_perspective(struct steps *steps, const struct transform *transform,
			 const struct draws *draws, struct fault *fault)
{
	const struct parameter *values = transform->values;
	const int32_t *size = steps->size;
	double to[4][2], numbers[8];
	(void)fault;
	if (!(uniform(draws, 0) < values[RANDOM_PERSPECTIVE_P].number[0]))
		return 0;
	for (uint32_t n = 0; n < 8; n++) {
		uint32_t corner = n / 2, i = n % 2;
		double scale = values[RANDOM_PERSPECTIVE_DISTORTION_SCALE].number[0];
		int32_t reach = (int32_t)(scale * (size[i] / 2));
		int32_t first = corners[corner][i] ? size[i] - reach - 1 : 0;
		to[corner][i] = first + below(draws, 1 + n, reach + 1);
	}
	if (!perspective_solve(to, size[0] - 1, size[1] - 1, numbers))
		return 0;
	struct warp *warp = warp_add(steps, size[0], size[1],
				     warp_look(&values[RANDOM_PERSPECTIVE_INTERPOLATION],
					       &values[RANDOM_PERSPECTIVE_FILL]));
	warp->kind = WARP_PERSPECTIVE;
	for (int i = 0; i < 8; i++)
		warp->a[i] = (float)numbers[i];
	return 0;
}
