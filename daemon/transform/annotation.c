// SPDX-License-Identifier: MIT
#include "transform/annotation.h"

#include <math.h>
#include <string.h>

struct point {
	double x, y;
};

/* Move a point of the picture as a warp does; NaN: to nowhere. The warp's numbers map the result to
 * the picture, so this is their inverse. */
static struct point point_warp(const struct warp *warp, struct point point)
{
	const double *a = warp->a;
	double g = warp->kind == WARP_PERSPECTIVE ? a[6] : 0.0;
	double h = warp->kind == WARP_PERSPECTIVE ? a[7] : 0.0;
	/* (a - x g) X + (b - x h) Y = x - c, and the same for y. */
	double xx = a[0] - point.x * g, xy = a[1] - point.x * h, x = point.x - a[2];
	double yx = a[3] - point.y * g, yy = a[4] - point.y * h, y = point.y - a[5];
	double by = xx * yy - xy * yx;
	struct point out = {(x * yy - xy * y) / by, (xx * y - x * yx) / by};
	/* Negated, so that NaN is caught: the bits of a computed NaN depend on the machine. */
	if (by == 0.0 || !(g * out.x + h * out.y + 1.0 > 0.0))
		return (struct point){NAN, NAN};
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
		return (x - axis->offset) * axis->out / axis->taken;
	default:
		return x;
	}
}

static struct point point_move(const struct step *step, struct point point)
{
	if (step->kind == STEP_WARP)
		return point_warp(&step->warp, point);
	return (struct point){axis_move(step, &step->axis[0], point.x),
			      axis_move(step, &step->axis[1], point.y)};
}

/* The bounding box of the corners, or what a rule makes of it. */
static void box_move(const struct step *step, double box[4])
{
	double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
	const int32_t size[2] = {step->axis[0].in, step->axis[1].in};
	if (step->kind == STEP_BOXES)
		box_rule_apply(&step->rule, size, box);
	if (step->kind == STEP_COLOUR || step->kind == STEP_BOXES)
		return;
	for (int corner = 0; corner < 4; corner++) {
		struct point from = {box[corner & 1 ? 2 : 0], box[corner & 2 ? 3 : 1]};
		struct point to = point_move(step, from);
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
	for (int i = 0; i < 2; i++) {
		bool crops = step->kind == STEP_RESIZE && step->axis[i].taken < step->axis[i].in;
		bool clips = crops || step->kind == STEP_WINDOW || step->kind == STEP_WARP;
		box[i] = clips ? box_clip(low[i], step->axis[i].out) : low[i];
		box[i + 2] = clips ? box_clip(high[i], step->axis[i].out) : high[i];
	}
}

/* The format that the steps end with. */
static enum box_format format_of(const struct steps *steps)
{
	enum box_format format = BOX_XYXY;
	for (unsigned n = 0; n < steps->count; n++) {
		const struct step *step = &steps->step[n];
		if (step->kind == STEP_BOXES && step->rule.kind == BOX_RULE_FORMATTED)
			format = (enum box_format)step->rule.number[0];
	}
	return format;
}

static void annotation_box(const struct steps *steps, const struct tile *tile, unsigned first,
			   enum box_format format, float *numbers)
{
	double box[4];
	for (int i = 0; i < 4; i++)
		box[i] = (double)numbers[i];
	for (unsigned n = first; n < steps->count; n++)
		box_move(&steps->step[n], box);
	if (tile)
		tile_move_box(tile, box);
	box_convert(format, box);
	/* No minus zero: fmin() may return either of two zeros. */
	for (int i = 0; i < 4; i++)
		numbers[i] = (float)box[i] + 0.0f;
}

static void annotation_point(const struct steps *steps, const struct tile *tile, float *numbers)
{
	struct point point = {(double)numbers[0], (double)numbers[1]};
	for (unsigned n = 0; n < steps->count; n++)
		point = point_move(&steps->step[n], point);
	if (tile)
		point = (struct point){point.x + tile->x, point.y + tile->y};
	numbers[0] = (float)point.x;
	numbers[1] = (float)point.y;
}

void annotation_move(const struct steps *steps, const struct tile *tile, float *numbers,
		     uint32_t count, bool boxes)
{
	const enum box_format format = format_of(steps);
	for (uint32_t i = 0; i < count; i++) {
		if (boxes)
			annotation_box(steps, tile, 0, format, numbers + 4 * (size_t)i);
		else
			annotation_point(steps, tile, numbers + 2 * (size_t)i);
	}
}

void annotation_catch_up(struct steps *steps)
{
	struct boxes *boxes = &steps->boxes;
	for (uint32_t i = 0; i < boxes->count && boxes->moved < steps->count; i++)
		annotation_box(steps, NULL, boxes->moved, BOX_XYXY, boxes->numbers + 4 * (size_t)i);
	boxes->moved = steps->count;
}

void annotation_real(const struct steps *steps, const struct tile *tile, int32_t width,
		     int32_t height, float box[4])
{
	double real[4] = {0, 0, width, height};
	for (unsigned n = 0; n < steps->count; n++)
		if (steps->step[n].kind != STEP_BOXES)
			box_move(&steps->step[n], real);
	if (tile)
		tile_move_box(tile, real);
	for (int i = 0; i < 4; i++)
		box[i] = (float)real[i] + 0.0f;
}

void annotation_mask_steps(struct steps *steps)
{
	unsigned kept = 0;
	for (unsigned n = 0; n < steps->count; n++) {
		struct step step = steps->step[n];
		if (step.kind == STEP_COLOUR || step.kind == STEP_BOXES)
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
