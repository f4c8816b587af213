// SPDX-License-Identifier: MIT
/*
 * GaussianBlur: torchvision's, along x and then along y, with reflected edges. Draws:
 *	sigma = lowest + uniform(0) * (highest - lowest)
 * Sums are float32, as torch's, but in the kernel's order: a pixel may differ by one from torch's.
 */
#include <string.h>

#include "transform/draws.h"
#include "transform/portable_math.h"
#include "transform/registry.h"
#include "transform/transforms/colours.h"

enum { KERNEL_SIZE, SIGMA };

#define STRIP 1024 /* pixels of a row that are blurred at a time */

/* The weights of a Gaussian of `count` pixels. */
static void weights_make(float *weights, int32_t count, double sigma)
{
	double values[BLUR_KERNEL_MAX], sum = 0.0;
	for (int32_t i = 0; i < count; i++) {
		double x = (i - count / 2) / sigma, power = -0.5 * x * x;
		values[i] = power < -700.0 ? 0.0 : portable_exp(power);
		sum += values[i];
	}
	for (int32_t i = 0; i < count; i++)
		weights[i] = (float)(values[i] / sum);
}

/* 2 1 0 1 2 ... n-1 n-2 */
static int32_t reflect(int32_t at, int32_t count)
{
	if (at < 0)
		return -at;
	return at < count ? at : 2 * (count - 1) - at;
}

struct blur {
	int32_t kernel[2]; /* width, height */
	float weights[2][BLUR_KERNEL_MAX];
	float *wide;	/* a row of the picture, with the reflected pixels at its ends */
	float *lines;	/* kernel[1] rows blurred along x: row y is at y % kernel[1] */
	float *made;	/* a row blurred along both axes */
	size_t numbers; /* of a row */
};

static float *blur_line(const struct blur *blur, int32_t y)
{
	return blur->lines + (size_t)(y % blur->kernel[1]) * blur->numbers;
}

static void blur_along_x(const struct paint *paint, const struct blur *blur, int32_t y)
{
	const int32_t reach = blur->kernel[0] / 2, width = paint->image->width;
	const int32_t left = paint->wanted.x - reach;
	const int32_t right = paint->wanted.x + paint->wanted.width + reach;
	const int32_t first = left < 0 ? 0 : left, end = right > width ? width : right;
	const float *taps[BLUR_KERNEL_MAX];
	float *row = blur->wide, *inside = row + COLOUR_CHANNELS * (size_t)(first - left);
	paint->rows->widen(inside, paint_pixel(paint, first, y),
			   COLOUR_CHANNELS * (size_t)(end - first));
	for (int32_t x = left; x < right; x++) {
		const float *from =
			inside + COLOUR_CHANNELS * (ptrdiff_t)(reflect(x, width) - first);
		if (x < first || x >= end)
			memcpy(row + COLOUR_CHANNELS * (size_t)(x - left), from,
			       COLOUR_CHANNELS * sizeof(*row));
	}
	for (int32_t k = 0; k < blur->kernel[0]; k++)
		taps[k] = row + COLOUR_CHANNELS * (size_t)k;
	paint->rows->weigh(blur_line(blur, y), taps, blur->weights[0], blur->kernel[0],
			   blur->numbers);
}

static void blur_run(const struct paint *paint, const struct blur *blur)
{
	const int32_t reach = blur->kernel[1] / 2, height = paint->image->height;
	const int32_t top = paint->wanted.y;
	const float *taps[BLUR_KERNEL_MAX];
	const uint64_t taps_of_row =
		(uint64_t)paint->wanted.width * (uint64_t)(blur->kernel[0] + blur->kernel[1]);
	int32_t next = top > reach ? top - reach : 0; /* the first row that is not yet a line */
	for (int32_t y = top; y < top + paint->wanted.height; y++) {
		for (; next <= y + reach && next < height; next++)
			blur_along_x(paint, blur, next);
		for (int32_t k = 0; k < blur->kernel[1]; k++)
			taps[k] = blur_line(blur, reflect(y - reach + k, height));
		paint->rows->weigh(blur->made, taps, blur->weights[1], blur->kernel[1],
				   blur->numbers);
		paint->rows->round(paint_out(paint, y - top), blur->made, paint->bytes);
		if (cancel_after(paint->cancel, taps_of_row))
			return;
	}
}

/* In strips, so that the lines fit into the caches and memory is bounded. */
static int paint(const struct paint *paint)
{
	const double *amount = paint->colour->amount;
	struct blur blur;
	int r = buffer_reserve(paint->scratch,
			       COLOUR_CHANNELS * sizeof(float) *
				       (STRIP * (size_t)(amount[1] + 2) + BLUR_KERNEL_MAX));
	if (r < 0)
		return r;
	for (int i = 0; i < 2; i++) {
		blur.kernel[i] = (int32_t)amount[i];
		weights_make(blur.weights[i], blur.kernel[i], amount[2]);
	}
	blur.wide = (float *)paint->scratch->data;
	blur.made = blur.wide + COLOUR_CHANNELS * (STRIP + BLUR_KERNEL_MAX);
	blur.lines = blur.made + COLOUR_CHANNELS * STRIP;
	for (int32_t x = 0; x < paint->wanted.width; x += STRIP) {
		struct paint strip = *paint;
		int32_t rest = paint->wanted.width - x;
		strip.wanted.x += x;
		strip.wanted.width = rest < STRIP ? rest : STRIP;
		strip.bytes = COLOUR_CHANNELS * (size_t)strip.wanted.width;
		strip.out += COLOUR_CHANNELS * (size_t)x;
		blur.numbers = strip.bytes;
		blur_run(&strip, &blur);
	}
	return 0;
}

void colour_add_blur(struct steps *steps, int32_t width, int32_t height, double sigma)
{
	struct colour *colour =
		steps_add_colour(steps, paint, (width > height ? width : height) / 2, width);
	colour->amount[1] = height;
	colour->amount[2] = sigma;
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	const double *number = transform->values[KERNEL_SIZE].number;
	const int32_t kernel[2] = {(int32_t)number[0], (int32_t)number[1]};
	if (kernel[0] / 2 >= steps->size[0] || kernel[1] / 2 >= steps->size[1])
		return fault_say(fault, STEPS_E_IMAGE,
				 "GaussianBlur's kernel of %d x %d (width x height) is too large "
				 "for a picture of %d x %d: put a Resize before it, or take a "
				 "smaller one",
				 kernel[0], kernel[1], steps->size[0], steps->size[1]);
	colour_add_blur(steps, kernel[0], kernel[1],
			draws_between(draws, 0, transform->values[SIGMA].number));
	return 0;
}

const struct transform_row transform_gaussian_blur = {
	.name = "GaussianBlur",
	.parameters =
		{
			[KERNEL_SIZE] = {.name = "kernel_size",
					 .type = PARAMETER_KERNEL,
					 .required = true,
					 .least = 1,
					 .most = BLUR_KERNEL_MAX},
			[SIGMA] = {.name = "sigma",
				   .type = PARAMETER_SPREAD,
				   .least = 1e-3,
				   .most = 1e3,
				   .standard = {2, {0.1, 2.0}}},
		},
	.draw = draw,
	.pictures_only = true,
};
