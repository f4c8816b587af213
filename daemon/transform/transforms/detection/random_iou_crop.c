// SPDX-License-Identifier: MIT
/*
 * RandomIoUCrop: torchvision v2's, for the boxes of a sample. Draws, each the number after the
 * last:
 *	below(options): the overlap that the crop must have with a box; from 1 on: no crop
 *	for each try: w, h = scale[0] + uniform * (scale[1] - scale[0]), of the picture's edges;
 *		if the ratio is allowed, left and top = uniform, of what is left of the edges
 * in float64, truncated. A crop is taken if the middle of a box is within it and one of such boxes
 * overlaps it enough; else, after all tries, from the beginning. Boxes whose middle is outside
 * become 0, 0, 0, 0. Where torchvision would try for ever (no box, no option from 1 on) or for very
 * long, the picture stays as it is.
 */
#include "transform/annotation.h"
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { MIN_SCALE, MAX_SCALE, MIN_RATIO, MAX_RATIO, OPTIONS, TRIALS };

#define TRIALS_MAX 1000
#define DRAWS_MAX 65536
#define LOOKS_MAX ((uint64_t)1 << 22) /* at a box, of all tries */

/* One search for a crop. */
struct search {
	const struct transform *transform;
	const struct draws *draws;
	const struct boxes *boxes;
	int32_t size[2];
	uint32_t drawn;		/* numbers so far */
	uint64_t looks;		/* at boxes so far */
	int32_t from[2], to[2]; /* the crop */
};

static double number_of(const struct search *search, int parameter)
{
	return search->transform->values[parameter].number[0];
}

static float smaller(float a, float b)
{
	return a < b ? a : b;
}

static float larger(float a, float b)
{
	return a > b ? a : b;
}

static float area_of(const float box[BOX_NUMBERS])
{
	return (box[2] - box[0]) * (box[3] - box[1]);
}

/* Intersection over union, in float32 and in torchvision's order. */
static float overlap_of(const float box[BOX_NUMBERS], const float crop[BOX_NUMBERS])
{
	float width = smaller(box[2], crop[2]) - larger(box[0], crop[0]);
	float height = smaller(box[3], crop[3]) - larger(box[1], crop[1]);
	float both = larger(width, 0.0f) * larger(height, 0.0f);
	return both / (area_of(box) + area_of(crop) - both);
}

/* Does the crop overlap a box whose middle is within it by at least so much? */
static bool crop_overlaps(struct search *search, float least)
{
	const float crop[BOX_NUMBERS] = {(float)search->from[0], (float)search->from[1],
					 (float)search->to[0], (float)search->to[1]};
	search->looks += search->boxes->count;
	for (uint32_t i = 0; i < search->boxes->count; i++) {
		const float *box = search->boxes->numbers + BOX_NUMBERS * (size_t)i;
		if (box_is_centred(box, crop) && overlap_of(box, crop) >= least)
			return true;
	}
	return false;
}

/* Draw a crop; false: it is of a shape that is not allowed, or empty. */
static bool crop_draw(struct search *search)
{
	const double scale[2] = {number_of(search, MIN_SCALE), number_of(search, MAX_SCALE)};
	int32_t size[2];
	for (int i = 0; i < 2; i++)
		size[i] = (int32_t)(search->size[i] *
				    draws_between(search->draws, search->drawn++, scale));
	if (size[0] < 1 || size[1] < 1)
		return false;
	double ratio = (double)size[0] / size[1];
	if (!(number_of(search, MIN_RATIO) <= ratio && ratio <= number_of(search, MAX_RATIO)))
		return false;
	for (int i = 0; i < 2; i++) {
		search->from[i] = (int32_t)((search->size[i] - size[i]) *
					    draws_uniform(search->draws, search->drawn++));
		search->to[i] = search->from[i] + size[i];
	}
	return true;
}

static bool search_try(struct search *search, float least)
{
	for (int n = (int)number_of(search, TRIALS); n > 0; n--)
		if (crop_draw(search) && crop_overlaps(search, least))
			return true;
	return false;
}

/* Find a crop; false: the picture stays as it is. */
static bool search_run(struct search *search)
{
	const struct parameter *options = &search->transform->values[OPTIONS];
	const uint32_t most = 1 + 4 * (uint32_t)number_of(search, TRIALS);
	while (search->boxes->count && search->drawn + most <= DRAWS_MAX &&
	       search->looks < LOOKS_MAX) {
		int32_t option =
			draws_below(search->draws, search->drawn++, (int32_t)options->count);
		if (options->number[option] >= 1.0)
			return false;
		if (search_try(search, (float)options->number[option]))
			return true;
	}
	return false;
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	(void)fault;
	struct search search = {.transform = transform,
				.draws = draws,
				.boxes = &steps->boxes,
				.size = {steps->size[0], steps->size[1]}};
	annotation_catch_up(steps);
	if (!search_run(&search))
		return 0;
	steps_add_boxes(steps, (struct box_rule){BOX_RULE_CENTRED,
						 {search.from[0], search.from[1], search.to[0],
						  search.to[1]}});
	steps_add_window(steps, search.from[0], search.from[1], search.to[0] - search.from[0],
			 search.to[1] - search.from[1]);
	return 0;
}

static int check(const struct transform *transform, struct fault *fault)
{
	const struct parameter *values = transform->values;
	if (values[MIN_SCALE].number[0] > values[MAX_SCALE].number[0])
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "RandomIoUCrop: 'min_scale' must not be greater than 'max_scale'");
	if (values[MIN_RATIO].number[0] > values[MAX_RATIO].number[0])
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "RandomIoUCrop: 'min_aspect_ratio' must not be greater than "
				 "'max_aspect_ratio'");
	return 0;
}

static const char *unsized(const struct transform *transform, bool sized)
{
	(void)transform, (void)sized;
	return "RandomIoUCrop makes pictures of several sizes: add FixedSizeCrop(size) or "
	       "Resize((height, width)) behind it";
}

#define NUMBER(name_, least_, most_, standard_)                                                    \
	{                                                                                          \
		.name = name_, .type = PARAMETER_NUMBER, .least = least_, .most = most_,           \
		.standard = {                                                                      \
			1,                                                                         \
			{standard_}                                                                \
		}                                                                                  \
	}

const struct transform_row transform_random_iou_crop = {
	.name = "RandomIoUCrop",
	.parameters =
		{
			[MIN_SCALE] = NUMBER("min_scale", 0, 1, 0.3),
			[MAX_SCALE] = NUMBER("max_scale", 0, 1, 1.0),
			[MIN_RATIO] = NUMBER("min_aspect_ratio", 0, 10000, 0.5),
			[MAX_RATIO] = NUMBER("max_aspect_ratio", 0, 10000, 2.0),
			[OPTIONS] = {.name = "sampler_options",
				     .type = PARAMETER_NUMBERS,
				     .optional = true,
				     .most = 100,
				     .standard = {7, {0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0}}},
			[TRIALS] = {.name = "trials",
				    .type = PARAMETER_WHOLE,
				    .least = 1,
				    .most = TRIALS_MAX,
				    .standard = {1, {40}}},
		},
	.check = check,
	.draw = draw,
	.unsized = unsized,
	.needs_boxes = true,
	.wide = true,
};
