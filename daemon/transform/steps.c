// SPDX-License-Identifier: MIT
/*
 * The arithmetic is torchvision's, on Pillow images. Randomness: draw n of transform t of the list
 * (ToTensor not counted) is number t * 65536 + n of the sample; uniform() is in [0, 1), below(m) a
 * whole number in [0, m).
 *	RandomHorizontalFlip, RandomVerticalFlip: flipped if uniform(0) < p
 *	RandomCrop: top = below(0, height - h + 1), left = below(1, width - w + 1), of the padded
 *		picture; nothing is drawn where both have one value
 *	RandomResizedCrop: for try k = 0 to 9, until the crop fits:
 *		area = height * width * (scale[0] + uniform(4k) * (scale[1] - scale[0]))
 *		ratio = exp(log(ratio[0]) + uniform(4k + 1) * (log(ratio[1]) - log(ratio[0])))
 *		w = round(sqrt(area * ratio)), h = round(sqrt(area / ratio)), halves to even
 *		top = below(4k + 2, height - h + 1), left = below(4k + 3, width - w + 1)
 *	RandomAffine, RandomRotation, RandomPerspective: the head of warp_draw.c
 *	AutoAugment, RandAugment, TrivialAugmentWide: the head of auto_augment.c
 *	FiveCrop, TenCrop: nothing; view v is crop v mod 5 or 10 of torchvision's, and what stands
 *		before draws as for view v / 5 or 10, so that those are crops of one picture
 *	RandomApply: applied unless p < uniform(0)
 *	RandomChoice: of n, without p number trunc(uniform(0) * n); with it the first that has more
 *		than uniform(0) * sum of the p in the sum of its and those before it, else the last
 *	RandomOrder: of 0, 1, ... n - 1, for i = n - 1 to 1 i and below(i, i + 1) change places
 * all in float64, exp and log from base/exact.h. Those that change colours stand in colour_draw.c.
 * What a transform holds is numbered as if it stood behind it in the list, held or not:
 * [RandomApply([A, B]), C] has t = 0, 1, 2, 3.
 */
#include "transform/steps.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/exact.h"
#include "transform/auto_augment.h"
#include "transform/colour_draw.h"
#include "transform/step.h"
#include "transform/warp_draw.h"

struct step *step_add(struct steps *steps, enum step_kind kind, int32_t width, int32_t height)
{
	struct step *step = &steps->step[steps->count];
	steps->count += steps->count + 1 < STEPS_MAX;
	memset(step, 0, kind < STEP_WARP ? offsetof(struct step, warp) : sizeof(*step));
	step->kind = kind;
	step->axis[0] = (struct step_axis){.in = steps->size[0], .out = width};
	step->axis[1] = (struct step_axis){.in = steps->size[1], .out = height};
	steps->size[0] = width;
	steps->size[1] = height;
	return step;
}

static struct step *window_add(struct steps *steps, int32_t left, int32_t top, int32_t width,
			       int32_t height)
{
	struct step *step = step_add(steps, STEP_WINDOW, width, height);
	step->axis[0].offset = left;
	step->axis[1].offset = top;
	return step;
}

static int say_large(const struct transform *transform, const struct steps *steps,
		     struct fault *fault)
{
	return fault_say(fault, STEPS_E_IMAGE,
			 "%s makes a picture of %d x %d more than %d pixels wide or high",
			 transform->row->name, steps->size[0], steps->size[1],
			 STEPS_EDGE_MAX);
}

/* Numbers may be out of range: they are checked before they are made whole. */
static int resize_add(struct steps *steps, const struct transform *transform, double width,
		      double height, enum filter filter, struct fault *fault)
{
	if (width > STEPS_EDGE_MAX || height > STEPS_EDGE_MAX)
		return say_large(transform, steps, fault);
	if (width < 1 || height < 1)
		return fault_say(fault, STEPS_E_IMAGE,
				 "%s makes nothing of a picture of %d x %d: an edge would be 0",
				 transform->row->name, steps->size[0], steps->size[1]);
	if ((int32_t)width != steps->size[0] || (int32_t)height != steps->size[1])
		step_add(steps, STEP_RESIZE, (int32_t)width, (int32_t)height)->filter = filter;
	return 0;
}

static int add_resize(struct steps *steps, const struct transform *transform,
		      const struct draws *draws, struct fault *fault)
{
	const struct parameter *size = &transform->values[RESIZE_SIZE];
	const struct parameter *max_size = &transform->values[RESIZE_MAX_SIZE];
	enum filter filter = (enum filter)transform->values[RESIZE_INTERPOLATION].number[0];
	double width = steps->size[0], height = steps->size[1];
	(void)draws;
	if (size->count == 2)
		return resize_add(steps, transform, size->number[1], size->number[0], filter,
				  fault);
	bool upright = width <= height;
	double new_short = size->number[0];
	double new_long =
		trunc(new_short * (upright ? height : width) / (upright ? width : height));
	if (max_size->count && new_long > max_size->number[0]) {
		new_short = trunc(max_size->number[0] * new_short / new_long);
		new_long = max_size->number[0];
	}
	return resize_add(steps, transform, upright ? new_short : new_long,
			  upright ? new_long : new_short, filter, fault);
}

static int add_center_crop(struct steps *steps, const struct transform *transform,
			   const struct draws *draws, struct fault *fault)
{
	const double *size = transform->values[CENTER_CROP_SIZE].number;
	const int32_t crop[2] = {(int32_t)size[1], (int32_t)size[0]};
	int32_t offset[2];
	(void)draws;
	(void)fault;
	for (int i = 0; i < 2; i++) {
		int32_t rest = steps->size[i] - crop[i];
		/* The larger half of a padding is on the right, of a cut as Python rounds. */
		offset[i] = rest < 0 ? -(-rest / 2) : (int32_t)round_even(rest / 2.0);
	}
	window_add(steps, offset[0], offset[1], crop[0], crop[1]);
	return 0;
}

static int pad_add(struct steps *steps, const struct transform *transform,
		   const double padding[4], enum border border, const double *fill,
		   struct fault *fault)
{
	int32_t left = (int32_t)padding[0], top = (int32_t)padding[1];
	int32_t width = steps->size[0] + left + (int32_t)padding[2];
	int32_t height = steps->size[1] + top + (int32_t)padding[3];
	if (width > STEPS_EDGE_MAX || height > STEPS_EDGE_MAX)
		return say_large(transform, steps, fault);
	struct step *step = window_add(steps, -left, -top, width, height);
	step->border = border;
	for (int i = 0; i < 3; i++)
		step->fill[i] = (uint8_t)fill[i];
	return 0;
}

static int add_pad(struct steps *steps, const struct transform *transform,
		   const struct draws *draws, struct fault *fault)
{
	(void)draws;
	return pad_add(steps, transform, transform->values[PAD_PADDING].number,
		       (enum border)transform->values[PAD_PADDING_MODE].number[0],
		       transform->values[PAD_FILL].number, fault);
}

static int pad_for_crop(struct steps *steps, const struct transform *transform, int32_t width,
			int32_t height, struct fault *fault)
{
	enum border border = (enum border)transform->values[RANDOM_CROP_PADDING_MODE].number[0];
	const double *fill = transform->values[RANDOM_CROP_FILL].number;
	int r = 0;
	if (transform->values[RANDOM_CROP_PADDING].count)
		r = pad_add(steps, transform, transform->values[RANDOM_CROP_PADDING].number,
			    border, fill, fault);
	if (transform->values[RANDOM_CROP_PAD_IF_NEEDED].number[0] == 0.0)
		return r;
	if (r == 0 && steps->size[0] < width) {
		double missing = width - steps->size[0];
		const double sides[4] = {missing, 0, missing, 0};
		r = pad_add(steps, transform, sides, border, fill, fault);
	}
	if (r == 0 && steps->size[1] < height) {
		double missing = height - steps->size[1];
		const double sides[4] = {0, missing, 0, missing};
		r = pad_add(steps, transform, sides, border, fill, fault);
	}
	return r;
}

static int add_random_crop(struct steps *steps, const struct transform *transform,
			   const struct draws *draws, struct fault *fault)
{
	const double *size = transform->values[RANDOM_CROP_SIZE].number;
	int32_t width = (int32_t)size[1], height = (int32_t)size[0];
	int r = pad_for_crop(steps, transform, width, height, fault);
	if (r)
		return r;
	int32_t over_x = steps->size[0] - width, over_y = steps->size[1] - height;
	if (over_x < 0 || over_y < 0)
		return fault_say(fault, STEPS_E_IMAGE,
				 "RandomCrop of %d x %d (width x height) is larger than the "
				 "picture, %d x %d: set pad_if_needed, or put a Resize before it",
				 width, height, steps->size[0], steps->size[1]);
	int32_t top = below(draws, 0, over_y + 1), left = below(draws, 1, over_x + 1);
	window_add(steps, left, top, width, height);
	return 0;
}

/* Where no try fits: the largest crop in the middle whose ratio is allowed. */
static int add_fallback_crop(struct steps *steps, const struct parameter *ratio,
			     struct fault *fault)
{
	int32_t width = steps->size[0], height = steps->size[1];
	double shape = (double)width / (double)height, w = width, h = height;
	if (shape < ratio->number[0])
		h = round_even(width / ratio->number[0]);
	else if (shape > ratio->number[1])
		w = round_even(height * ratio->number[1]);
	if (w < 1 || h < 1)
		return fault_say(fault, STEPS_E_IMAGE,
				 "RandomResizedCrop finds no crop of its 'ratio' in a picture of "
				 "%d x %d",
				 width, height);
	window_add(steps, (width - (int32_t)w) / 2, (height - (int32_t)h) / 2, (int32_t)w,
		   (int32_t)h);
	return 0;
}

static int add_random_resized_crop(struct steps *steps, const struct transform *transform,
				   const struct draws *draws, struct fault *fault)
{
	const struct parameter *ratio = &transform->values[RANDOM_RESIZED_CROP_RATIO];
	const double *scale = transform->values[RANDOM_RESIZED_CROP_SCALE].number;
	const double *size = transform->values[RANDOM_RESIZED_CROP_SIZE].number;
	const double width = steps->size[0], height = steps->size[1];
	const double low = exact_log(ratio->number[0]), high = exact_log(ratio->number[1]);
	bool fits = false;
	for (uint32_t try = 0; try < 10 && !fits; try++) {
		double area = width * height *
			      (scale[0] + uniform(draws, 4 * try) * (scale[1] - scale[0]));
		double shape = exact_exp(low + uniform(draws, 4 * try + 1) * (high - low));
		double w = round_even(sqrt(area * shape)), h = round_even(sqrt(area / shape));
		fits = w > 0 && w <= width && h > 0 && h <= height;
		if (!fits)
			continue;
		int32_t top = below(draws, 4 * try + 2, (int32_t)(height - h) + 1);
		int32_t left = below(draws, 4 * try + 3, (int32_t)(width - w) + 1);
		window_add(steps, left, top, (int32_t)w, (int32_t)h);
	}
	int r = fits ? 0 : add_fallback_crop(steps, ratio, fault);
	if (r)
		return r;
	return resize_add(
		steps, transform, size[1], size[0],
		(enum filter)transform->values[RANDOM_RESIZED_CROP_INTERPOLATION].number[0], fault);
}

static void flip_add(struct steps *steps, bool vertical)
{
	struct step *step = step_add(steps, STEP_FLIP, steps->size[0], steps->size[1]);
	step->axis[vertical].flip = true;
}

/* Four corners and the middle; of TenCrop, the same of the picture turned round behind them. */
static int add_crops(struct steps *steps, const struct transform *transform,
		     const struct draws *draws, struct fault *fault)
{
	const double *size = transform->values[CROPS_SIZE].number;
	int32_t width = (int32_t)size[1], height = (int32_t)size[0];
	int32_t over_x = steps->size[0] - width, over_y = steps->size[1] - height;
	uint32_t crop = (uint32_t)(draws->key->position >> 56) % transform_views(transform);
	uint32_t corner = crop % 5;
	if (over_x < 0 || over_y < 0)
		return fault_say(fault, STEPS_E_IMAGE,
				 "%s of %d x %d (width x height) is larger than the picture, %d x "
				 "%d: put a Resize before it",
				 transform->row->name, width, height, steps->size[0],
				 steps->size[1]);
	if (crop >= 5)
		flip_add(steps, transform->values[TEN_CROP_VERTICAL_FLIP].number[0] != 0.0);
	if (corner == 4)
		window_add(steps, (int32_t)round_even(over_x / 2.0),
			   (int32_t)round_even(over_y / 2.0), width, height);
	else
		window_add(steps, corner & 1 ? over_x : 0, corner & 2 ? over_y : 0, width,
			   height);
	return 0;
}

static int add_flip(struct steps *steps, const struct transform *transform,
		    const struct draws *draws, struct fault *fault)
{
	(void)fault;
	if (uniform(draws, 0) < transform->values[RANDOM_FLIP_P].number[0])
		flip_add(steps, transform->row->kind == TRANSFORM_RANDOM_VERTICAL_FLIP);
	return 0;
}

static steps_function *const functions[TRANSFORM_KINDS] = {
	[TRANSFORM_RESIZE] = add_resize,
	[TRANSFORM_CENTER_CROP] = add_center_crop,
	[TRANSFORM_RANDOM_CROP] = add_random_crop,
	[TRANSFORM_RANDOM_RESIZED_CROP] = add_random_resized_crop,
	[TRANSFORM_RANDOM_HORIZONTAL_FLIP] = add_flip,
	[TRANSFORM_RANDOM_VERTICAL_FLIP] = add_flip,
	[TRANSFORM_PAD] = add_pad,
	[TRANSFORM_FIVE_CROP] = add_crops,
	[TRANSFORM_TEN_CROP] = add_crops,
	[TRANSFORM_RANDOM_INVERT] = colour_add_random,
	[TRANSFORM_RANDOM_POSTERIZE] = colour_add_random,
	[TRANSFORM_RANDOM_SOLARIZE] = colour_add_random,
	[TRANSFORM_RANDOM_ADJUST_SHARPNESS] = colour_add_random,
	[TRANSFORM_RANDOM_AUTOCONTRAST] = colour_add_random,
	[TRANSFORM_RANDOM_EQUALIZE] = colour_add_random,
	[TRANSFORM_RANDOM_GRAYSCALE] = colour_add_random,
	[TRANSFORM_GRAYSCALE] = colour_add_grayscale,
	[TRANSFORM_COLOR_JITTER] = colour_add_jitter,
	[TRANSFORM_GAUSSIAN_BLUR] = colour_add_blur,
	[TRANSFORM_RANDOM_AFFINE] = warp_add_affine,
	[TRANSFORM_RANDOM_ROTATION] = warp_add_rotation,
	[TRANSFORM_RANDOM_PERSPECTIVE] = warp_add_perspective,
	[TRANSFORM_AUTO_AUGMENT] = augment_add_auto,
	[TRANSFORM_RAND_AUGMENT] = augment_add_rand,
	[TRANSFORM_TRIVIAL_AUGMENT] = augment_add_trivial,
};

void steps_begin(struct steps *steps, int32_t width, int32_t height)
{
	steps->size[0] = width;
	steps->size[1] = height;
	steps->count = 0;
}

int steps_draw_one(struct steps *steps, const struct transform *transform, unsigned index,
		 const struct draw_key *key, struct fault *fault)
{
	const struct draws draws = {key, (uint32_t)index << 16};
	int r = functions[transform->row->kind](steps, transform, &draws, fault);
	if (r == 0 && steps->count + 1 == STEPS_MAX)
		return fault_say(fault, STEPS_E_IMAGE, "the transforms make more than %d steps",
				 STEPS_MAX - 2);
	return r;
}

/* --- transforms that hold others --- */

/* Add the one that stands at `at`, with what it holds. */
typedef int combine_function(struct steps *steps, const struct transform *list, unsigned at,
			     const struct draw_key *key, struct fault *fault);

static int combine_run(struct steps *steps, const struct transform *list, unsigned at,
		       const struct draw_key *key, struct fault *fault)
{
	return steps_draw(steps, list, at + 1, list[at].behind, key, fault);
}

static int combine_apply(struct steps *steps, const struct transform *list, unsigned at,
			 const struct draw_key *key, struct fault *fault)
{
	const struct draws draws = {key, at << 16};
	if (list[at].values[COMBINED_P].number[0] < uniform(&draws, 0))
		return 0;
	return combine_run(steps, list, at, key, fault);
}

/* Where the transforms that `at` holds stand; how many there are. */
static unsigned find_held(const struct transform *list, unsigned at, unsigned *held_out)
{
	unsigned count = 0, end = at + 1 + list[at].behind;
	for (unsigned i = at + 1; i < end; i += 1 + list[i].behind)
		held_out[count++] = i;
	return count;
}

static int combine_choose(struct steps *steps, const struct transform *list, unsigned at,
			  const struct draw_key *key, struct fault *fault)
{
	const struct draws draws = {key, at << 16};
	unsigned held[TRANSFORMS_MAX], count = find_held(list, at, held), chosen = 0;
	double sum = 0, reached = 0;
	for (unsigned i = 0; i < count; i++)
		sum += list[held[i]].weight;
	while (chosen + 1 < count) {
		reached += list[held[chosen]].weight;
		if (uniform(&draws, 0) * sum < reached)
			break;
		chosen++;
	}
	return steps_draw(steps, list, held[chosen], 1 + list[held[chosen]].behind, key,
				 fault);
}

static int combine_shuffled(struct steps *steps, const struct transform *list, unsigned at,
			    const struct draw_key *key, struct fault *fault)
{
	const struct draws draws = {key, at << 16};
	unsigned held[TRANSFORMS_MAX], count = find_held(list, at, held);
	int r = 0;
	for (unsigned i = count; i-- > 1;) {
		int32_t other = below(&draws, i, (int32_t)i + 1);
		unsigned swap = held[i];
		held[i] = held[other];
		held[other] = swap;
	}
	for (unsigned i = 0; r == 0 && i < count; i++)
		r = steps_draw(steps, list, held[i], 1 + list[held[i]].behind, key,
				      fault);
	return r;
}

static combine_function *const combine_functions[TRANSFORM_KINDS] = {
	[TRANSFORM_COMPOSE] = combine_run,
	[TRANSFORM_RANDOM_APPLY] = combine_apply,
	[TRANSFORM_RANDOM_CHOICE] = combine_choose,
	[TRANSFORM_RANDOM_ORDER] = combine_shuffled,
};

int steps_draw(struct steps *steps, const struct transform *list, unsigned first,
		      unsigned count, const struct draw_key *key, struct fault *fault)
{
	int r = 0;
	for (unsigned i = first; r == 0 && i < first + count; i += 1 + list[i].behind) {
		combine_function *combine = combine_functions[list[i].row->kind];
		r = combine ? combine(steps, list, i, key, fault)
			    : steps_draw_one(steps, &list[i], i, key, fault);
	}
	return r;
}

/* --- for a picture that is decoded smaller --- */

/* The first resize, and what part of the picture it takes; -1 if it is not a mere part. */
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
			*crop_out = crop;
			return (int)i;
		}
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

unsigned steps_shrink(struct steps *steps)
{
	struct rect crop;
	int at = find_resize(steps, &crop);
	if (at < 0)
		return 1;
	struct step resize = steps->step[at];
	int32_t scale = 8;
	while (scale > 1 && (crop.width / scale < resize.axis[0].out ||
			     crop.height / scale < resize.axis[1].out))
		scale /= 2;
	if (scale == 1)
		return 1;
	const int32_t from[2] = {crop.x, crop.y};
	const int32_t to[2] = {crop.x + crop.width, crop.y + crop.height};
	struct step window = {.kind = STEP_WINDOW};
	for (int i = 0; i < 2; i++) {
		int32_t offset = from[i] / scale, out = divide_up(to[i], scale) - offset;
		window.axis[i] = (struct step_axis){
			.in = divide_up(steps->step[0].axis[i].in, scale),
			.out = out,
			.offset = offset,
		};
		resize.axis[i].in = out;
	}
	unsigned rest = steps->count - (unsigned)at - 1;
	/* A resize of the whole picture has no crop before it, so all that follow move up by one.
	 */
	memmove(&steps->step[2], &steps->step[at + 1], rest * sizeof(*steps->step));
	steps->step[0] = window;
	steps->step[1] = resize;
	steps->count = 2 + rest;
	return (unsigned)scale;
}
