// SPDX-License-Identifier: MIT
#include "transform/annotation.h"

#include <math.h>
#include <string.h>

struct place {
	double x, y;
};

/* The inverse of what a warp does: where a place of the picture goes to. NaN: nowhere. */
static struct place place_warp(const struct warp *warp, struct place place)
{
	const double *a = warp->a;
	double g = warp->kind == WARP_PERSPECTIVE ? a[6] : 0.0;
	double h = warp->kind == WARP_PERSPECTIVE ? a[7] : 0.0;
	/* (a - x g) X + (b - x h) Y = x - c, and the same for y. */
	double xx = a[0] - place.x * g, xy = a[1] - place.x * h, x = place.x - a[2];
	double yx = a[3] - place.y * g, yy = a[4] - place.y * h, y = place.y - a[5];
	double by = xx * yy - xy * yx;
	struct place out = {(x * yy - xy * y) / by, (xx * y - x * yx) / by};
	/* Turned round, for a NaN of arithmetic has not the same bits on every machine. */
	if (by == 0.0 || !(g * out.x + h * out.y + 1.0 > 0.0))
		return (struct place){NAN, NAN};
	return out;
}

static double axis_move(const struct step *step, const struct step_axis *axis, double x)
{
	switch (step->kind) {
	case STEP_WINDOW:
		return x - axis->offset;
	case STEP_FLIP:
		return axis->flip ? axis->in - x : x;
	case STEP_RESIZE:
		return x * axis->out / axis->in;
	default:
		return x;
	}
}

static struct place place_move(const struct step *step, struct place place)
{
	if (step->kind == STEP_WARP)
		return place_warp(&step->warp, place);
	return (struct place){axis_move(step, &step->axis[0], place.x),
			      axis_move(step, &step->axis[1], place.y)};
}

/* NaN is neither below nor above. */
static double cut(double x, double end)
{
	return x < 0.0 ? 0.0 : x > end ? end : x;
}

/* A box's corners may come to lie anywhere: it is what is around them. */
static void box_move(const struct step *step, double box[4])
{
	double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
	if (step->kind == STEP_COLOUR)
		return;
	for (int corner = 0; corner < 4; corner++) {
		struct place from = {box[corner & 1 ? 2 : 0], box[corner & 2 ? 3 : 1]};
		struct place to = place_move(step, from);
		if (isnan(to.x) || isnan(to.y)) {
			for (int i = 0; i < 4; i++)
				box[i] = NAN;
			return;
		}
		low[0] = fmin(low[0], to.x);
		low[1] = fmin(low[1], to.y);
		high[0] = fmax(high[0], to.x);
		high[1] = fmax(high[1], to.y);
	}
	bool cuts = step->kind == STEP_WINDOW || step->kind == STEP_WARP;
	for (int i = 0; i < 2; i++) {
		box[i] = cuts ? cut(low[i], step->axis[i].out) : low[i];
		box[i + 2] = cuts ? cut(high[i], step->axis[i].out) : high[i];
	}
}

static void annotation_box(const struct steps *steps, float *numbers)
{
	double box[4];
	for (int i = 0; i < 4; i++)
		box[i] = (double)numbers[i];
	for (unsigned n = 0; n < steps->count; n++)
		box_move(&steps->step[n], box);
	/* No minus zero: which of two zeros is the lesser is fmin()'s own choice. */
	for (int i = 0; i < 4; i++)
		numbers[i] = (float)box[i] + 0.0f;
}

static void annotation_point(const struct steps *steps, float *numbers)
{
	struct place place = {(double)numbers[0], (double)numbers[1]};
	for (unsigned n = 0; n < steps->count; n++)
		place = place_move(&steps->step[n], place);
	numbers[0] = (float)place.x;
	numbers[1] = (float)place.y;
}

void annotation_move(const struct steps *steps, float *numbers, uint32_t count, bool boxes)
{
	for (uint32_t i = 0; i < count; i++) {
		if (boxes)
			annotation_box(steps, numbers + 4 * (size_t)i);
		else
			annotation_point(steps, numbers + 2 * (size_t)i);
	}
}

void annotation_mask_steps(struct steps *steps)
{
	unsigned kept = 0;
	for (unsigned n = 0; n < steps->count; n++) {
		struct step step = steps->step[n];
		if (step.kind == STEP_COLOUR)
			continue;
		step.filter = FILTER_NEAREST;
		memset(step.fill, 0, sizeof(step.fill));
		if (step.kind == STEP_WARP) {
			step.warp.filter = FILTER_NEAREST;
			memset(step.warp.fill, 0, sizeof(step.warp.fill));
		}
		steps->step[kept++] = step;
	}
	steps->count = kept;
}
