// SPDX-License-Identifier: MIT
#include "transform/steps.h"

#include <stddef.h>
#include <string.h>

void steps_begin(struct steps *steps, int32_t width, int32_t height)
{
	steps->size[0] = width;
	steps->size[1] = height;
	steps->pillow_13 = false;
	steps->pixel_bytes = 0;
	steps->index = 0;
	steps->boxes = BOXES_NULL;
	steps->count = 0;
}

bool step_rows_first(const struct steps *steps, const struct step *step)
{
	int32_t width = step->axis[0].in - step->axis[0].out;
	int32_t height = step->axis[1].in - step->axis[1].out;
	return steps->pillow_13 && height > 0 && height > 2 * width;
}

bool steps_full(const struct steps *steps)
{
	return steps->count + 1 == STEPS_MAX;
}

/* A step to a picture of width x height, all else zero. */
static struct step *steps_add(struct steps *steps, enum step_kind kind, int32_t width,
			      int32_t height)
{
	struct step *step = &steps->step[steps->count];
	steps->count += !steps_full(steps);
	memset(step, 0, kind < STEP_WARP ? offsetof(struct step, warp) : sizeof(*step));
	step->kind = kind;
	step->axis[0] = (struct step_axis){.in = steps->size[0], .out = width};
	step->axis[1] = (struct step_axis){.in = steps->size[1], .out = height};
	steps->size[0] = width;
	steps->size[1] = height;
	return step;
}

int steps_say_large(const struct steps *steps, const char *name, struct fault *fault)
{
	return fault_say(fault, STEPS_E_IMAGE,
			 "%s would make a picture of %d x %d wider or higher than %d pixels", name,
			 steps->size[0], steps->size[1], STEPS_EDGE_MAX);
}

struct step *steps_add_window(struct steps *steps, int32_t left, int32_t top, int32_t width,
			      int32_t height)
{
	struct step *step = steps_add(steps, STEP_WINDOW, width, height);
	step->axis[0].offset = left;
	step->axis[1].offset = top;
	return step;
}

int steps_add_pad(struct steps *steps, const char *name, const double padding[4],
		  enum border border, const double fill[3], struct fault *fault)
{
	int32_t left = (int32_t)padding[0], top = (int32_t)padding[1];
	int32_t width = steps->size[0] + left + (int32_t)padding[2];
	int32_t height = steps->size[1] + top + (int32_t)padding[3];
	if (width > STEPS_EDGE_MAX || height > STEPS_EDGE_MAX)
		return steps_say_large(steps, name, fault);
	struct step *step = steps_add_window(steps, -left, -top, width, height);
	step->border = border;
	for (int i = 0; i < 3; i++)
		step->fill[i] = (uint8_t)fill[i];
	return 0;
}

void steps_add_flip(struct steps *steps, bool horizontal, bool vertical)
{
	struct step *step = steps_add(steps, STEP_FLIP, steps->size[0], steps->size[1]);
	step->axis[0].flip = horizontal;
	step->axis[1].flip = vertical;
}

int steps_add_resize(struct steps *steps, const char *name, double width, double height,
		     enum filter filter, struct fault *fault)
{
	const struct rect whole = {0, 0, steps->size[0], steps->size[1]};
	return steps_add_box_resize(steps, name, &whole, width, height, filter, fault);
}

int steps_add_box_resize(struct steps *steps, const char *name, const struct rect *box,
			 double width, double height, enum filter filter, struct fault *fault)
{
	if (width > STEPS_EDGE_MAX || height > STEPS_EDGE_MAX)
		return steps_say_large(steps, name, fault);
	if (width < 1 || height < 1 || box->width < 1 || box->height < 1)
		return fault_say(
			fault, STEPS_E_IMAGE,
			"%s of a picture of %d x %d: an edge would be 0 pixels: take a larger size",
			name, steps->size[0], steps->size[1]);
	if (box->width == (int32_t)width && box->height == (int32_t)height) {
		/* No pixel changes. */
		if (box->width != steps->size[0] || box->height != steps->size[1])
			steps_add_window(steps, box->x, box->y, box->width, box->height);
		return 0;
	}
	struct step *step = steps_add(steps, STEP_RESIZE, (int32_t)width, (int32_t)height);
	step->filter = filter;
	step->axis[0].offset = box->x;
	step->axis[0].taken = box->width;
	step->axis[1].offset = box->y;
	step->axis[1].taken = box->height;
	return 0;
}

struct warp *steps_add_warp(struct steps *steps, int32_t width, int32_t height,
			    struct warp_look look)
{
	struct warp *warp = &steps_add(steps, STEP_WARP, width, height)->warp;
	warp->size[0] = width;
	warp->size[1] = height;
	warp->filter = look.filter;
	memcpy(warp->fill, look.fill, sizeof(warp->fill));
	return warp;
}

void steps_add_affine(struct steps *steps, int32_t width, int32_t height, const double matrix[6],
		      struct warp_look look)
{
	struct warp *warp = steps_add_warp(steps, width, height, look);
	warp->kind = WARP_AFFINE;
	memcpy(warp->a, matrix, 6 * sizeof(*matrix));
}

struct colour *steps_add_colour(struct steps *steps, colour_function *function, int32_t reach,
				double amount)
{
	struct step *step = steps_add(steps, STEP_COLOUR, steps->size[0], steps->size[1]);
	step->colour = (struct colour){function, reach, {amount}};
	return &step->colour;
}

void steps_add_boxes(struct steps *steps, struct box_rule rule)
{
	steps_add(steps, STEP_BOXES, steps->size[0], steps->size[1])->rule = rule;
}

/* --- for a picture that is decoded at a smaller size --- */

/* The index of the first resize, and the region of the picture that it reads; -1: see above. */
static int find_resize(const struct steps *steps, struct rect *crop_out)
{
	if (steps->count == 0)
		return -1;
	const struct step *first = &steps->step[0];
	struct rect crop = {0, 0, first->axis[0].in, first->axis[1].in};
	for (unsigned i = 0; i < steps->count; i++) {
		const struct step_axis *x = &steps->step[i].axis[0];
		const struct step_axis *y = &steps->step[i].axis[1];
		if (steps->step[i].kind == STEP_RESIZE) {
			if (x->taken != x->in || y->taken != y->in)
				return -1;
			*crop_out = crop;
			return (int)i;
		}
		if (steps->step[i].kind == STEP_BOXES)
			continue;
		if (steps->step[i].kind != STEP_WINDOW || x->offset < 0 || y->offset < 0 ||
		    x->offset + x->out > x->in || y->offset + y->out > y->in)
			return -1;
		crop = (struct rect){crop.x + x->offset, crop.y + y->offset, x->out, y->out};
	}
	return -1;
}

static int32_t divide_up(int32_t number, int32_t by)
{
	return (number + by - 1) / by;
}

/* The largest divisor that leaves a pixel of the region for each pixel that the resize makes. */
static int32_t divisor_of(const struct step *resize, const struct rect *crop)
{
	int32_t divisor = 8;
	while (divisor > 1 && (crop->width / divisor < resize->axis[0].out ||
			       crop->height / divisor < resize->axis[1].out))
		divisor /= 2;
	return divisor;
}

unsigned steps_shrink(struct steps *steps)
{
	struct rect crop;
	int at = find_resize(steps, &crop);
	if (at < 0)
		return 1;
	struct step resize = steps->step[at], window = {.kind = STEP_WINDOW};
	const int32_t divisor = divisor_of(&resize, &crop);
	if (divisor == 1)
		return 1;
	const int32_t from[2] = {crop.x, crop.y};
	const int32_t to[2] = {crop.x + crop.width, crop.y + crop.height};
	for (int i = 0; i < 2; i++) {
		int32_t offset = from[i] / divisor, out = divide_up(to[i], divisor) - offset;
		window.axis[i] = (struct step_axis){
			.in = divide_up(steps->step[0].axis[i].in, divisor),
			.out = out,
			.offset = offset,
		};
		resize.axis[i].in = resize.axis[i].taken = out;
	}
	/* The crops become one. A resize without a crop gets one: the steps behind it move up. */
	unsigned rest = steps->count - (unsigned)at - 1;
	memmove(&steps->step[2], &steps->step[at + 1], rest * sizeof(*steps->step));
	steps->step[0] = window;
	steps->step[1] = resize;
	steps->count = 2 + rest;
	return (unsigned)divisor;
}
