// SPDX-License-Identifier: MIT
/*
 * The draws of each transform, numbered as geometry.c says:
 *	RandomInvert, RandomPosterize, RandomSolarize, RandomAdjustSharpness, RandomAutocontrast,
 *		RandomEqualize, RandomGrayscale: applied if uniform(0) < p
 *	Grayscale: none
 *	ColorJitter: of brightness, contrast, saturation, hue, for i = 3, 2, 1, i and
 *		below(i, i + 1) change places: the order in which they are applied. Brightness is
 *		lowest + uniform(4) * (highest - lowest), contrast the same with uniform(5),
 *		saturation uniform(6), hue uniform(7). What can only be 1 (hue: 0) is left out.
 *	GaussianBlur: sigma = lowest + uniform(0) * (highest - lowest)
 */
#include "transform/colour_draw.h"

#define JITTERS 4

static struct colour *colour_step(struct steps *steps, enum colour_kind kind)
{
	struct step *step = step_add(steps, STEP_COLOUR, steps->size[0], steps->size[1]);
	step->colour.kind = kind;
	return &step->colour;
}

/* Those with a probability: all that they have, or behind one number. */
static const struct {
	enum colour_kind colour;
	bool amount;
} randoms[TRANSFORM_KINDS] = {
	[TRANSFORM_RANDOM_INVERT] = {COLOUR_INVERT, false},
	[TRANSFORM_RANDOM_POSTERIZE] = {COLOUR_POSTERIZE, true},
	[TRANSFORM_RANDOM_SOLARIZE] = {COLOUR_SOLARIZE, true},
	[TRANSFORM_RANDOM_ADJUST_SHARPNESS] = {COLOUR_SHARPNESS, true},
	[TRANSFORM_RANDOM_AUTOCONTRAST] = {COLOUR_AUTOCONTRAST, false},
	[TRANSFORM_RANDOM_EQUALIZE] = {COLOUR_EQUALIZE, false},
	[TRANSFORM_RANDOM_GRAYSCALE] = {COLOUR_GRAYSCALE, false},
};

int colour_add_random(struct steps *steps, const struct transform *transform,
		      const struct draws *draws, struct fault *fault)
{
	enum transform_kind kind = transform->row->kind;
	int p = randoms[kind].amount ? RANDOM_AMOUNT_P : RANDOM_COLOUR_P;
	(void)fault;
	if (!(uniform(draws, 0) < transform->values[p].number[0]))
		return 0;
	struct colour *colour = colour_step(steps, randoms[kind].colour);
	if (randoms[kind].amount)
		colour->amount[0] = transform->values[RANDOM_AMOUNT].number[0];
	return 0;
}

int colour_add_grayscale(struct steps *steps, const struct transform *transform,
			 const struct draws *draws, struct fault *fault)
{
	(void)transform;
	(void)draws;
	(void)fault;
	colour_step(steps, COLOUR_GRAYSCALE);
	return 0;
}

static double between(const struct parameter *interval, double drawn)
{
	return interval->number[0] + drawn * (interval->number[1] - interval->number[0]);
}

int colour_add_jitter(struct steps *steps, const struct transform *transform,
		      const struct draws *draws, struct fault *fault)
{
	static const struct {
		enum colour_kind colour;
		double same; /* changes nothing */
	} jitters[JITTERS] = {
		[COLOR_JITTER_BRIGHTNESS] = {COLOUR_BRIGHTNESS, 1.0},
		[COLOR_JITTER_CONTRAST] = {COLOUR_CONTRAST, 1.0},
		[COLOR_JITTER_SATURATION] = {COLOUR_SATURATION, 1.0},
		[COLOR_JITTER_HUE] = {COLOUR_HUE, 0.0},
	};
	unsigned order[JITTERS] = {0, 1, 2, 3};
	(void)fault;
	for (unsigned i = JITTERS - 1; i > 0; i--) {
		unsigned other = (unsigned)below(draws, i, (int32_t)i + 1), first = order[i];
		order[i] = order[other];
		order[other] = first;
	}
	for (unsigned i = 0; i < JITTERS; i++) {
		unsigned jitter = order[i];
		const struct parameter *range = &transform->values[jitter];
		double same = jitters[jitter].same;
		if (range->number[0] == same && range->number[1] == same)
			continue;
		colour_step(steps, jitters[jitter].colour)->amount[0] =
			between(range, uniform(draws, JITTERS + jitter));
	}
	return 0;
}

int colour_add_blur(struct steps *steps, const struct transform *transform,
		    const struct draws *draws, struct fault *fault)
{
	const double *kernel = transform->values[GAUSSIAN_BLUR_KERNEL_SIZE].number;
	for (int i = 0; i < 2; i++) {
		if ((int32_t)kernel[i] / 2 >= steps->size[i])
			return fault_say(fault, STEPS_E_IMAGE,
					 "GaussianBlur's kernel of %.0f x %.0f (width x height) "
					 "is too large for a picture of %d x %d: put a Resize "
					 "before it, or take a smaller one",
					 kernel[0], kernel[1], steps->size[0],
					 steps->size[1]);
	}
	struct colour *colour = colour_step(steps, COLOUR_BLUR);
	colour->amount[0] = kernel[0];
	colour->amount[1] = kernel[1];
	colour->amount[2] = between(&transform->values[GAUSSIAN_BLUR_SIGMA], uniform(draws, 0));
	return 0;
}
