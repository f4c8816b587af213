// SPDX-License-Identifier: MIT
/*
 * Buckets: resizes a picture to cover the size of its bucket, and crops it to that. Which bucket it
 * is in was decided by its size before (sampler/bucket.h). As kohya's sd-scripts, in float64:
 *	scale = h / height if width / height > w / h, else w / width
 *	resized = (int(width * scale + 0.5), int(height * scale + 0.5))
 * then CenterCrop, or RandomCrop, which draws top = below(0, ...), left = below(1, ...).
 *
 * The sizes can be said by `area`: all those whose edges are multiples of `step`, with at most
 * `area` pixels and as many as that allows, and up to `ratio` between the edges.
 */
#include "transform/transforms/buckets.h"

#include <math.h>
#include <stdlib.h>

#include "transform/buckets/size_list.h"
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { SIZES, AREA, STEP, RATIO, CROP, INTERPOLATION, ANTIALIAS, RUN };
_Static_assert((int)SIZES == (int)BUCKETS_SIZES && (int)RUN == (int)BUCKETS_RUN, "the same places");
enum { CROP_CENTER, CROP_RANDOM };

static const char *const crops[] = {[CROP_CENTER] = "center", [CROP_RANDOM] = "random"};
static const struct parameter_choices crop_choices = {crops, 2};

struct sizes {
	unsigned count;
	struct image_size size[2 * TRANSFORM_EDGE_MAX + 1];
};

static int compare_sizes(const void *a, const void *b)
{
	const struct image_size *p = a, *q = b;
	if (p->width != q->width)
		return p->width < q->width ? -1 : 1;
	return p->height < q->height ? -1 : p->height > q->height;
}

/* Both ways round, if that is within the ratio. */
static void add_sizes(struct sizes *sizes, int64_t width, int64_t height, double ratio)
{
	int64_t larger = width > height ? width : height, smaller = width + height - larger;
	if (smaller < 1 || larger > TRANSFORM_EDGE_MAX || (double)larger > ratio * (double)smaller)
		return;
	sizes->size[sizes->count++] = (struct image_size){(int32_t)width, (int32_t)height};
	if (width != height)
		sizes->size[sizes->count++] = (struct image_size){(int32_t)height, (int32_t)width};
}

/* All sizes of an area, narrow ones first, each once. 0 or TRANSFORM_E_VALUE. */
static int sizes_of_area(struct parameter *out, int64_t area, int64_t step, double ratio,
			 struct fault *fault)
{
	struct sizes *sizes = calloc(1, sizeof(*sizes));
	int64_t side = (int64_t)sqrt((double)area) / step * step;
	if (!sizes)
		return fault_say(fault, TRANSFORM_E_VALUE, "Buckets: out of memory");
	add_sizes(sizes, side, side, ratio);
	for (int64_t width = step; width <= side; width += step)
		add_sizes(sizes, width, area / width / step * step, ratio);
	qsort(sizes->size, sizes->count, sizeof(*sizes->size), compare_sizes);
	*out = (struct parameter){0};
	unsigned count = 0;
	for (unsigned i = 0; i < sizes->count; i++) {
		if (i > 0 && compare_sizes(&sizes->size[i - 1], &sizes->size[i]) == 0)
			continue;
		if (++count <= PARAMETER_SIZES_MAX)
			size_list_add(out, sizes->size[i]);
	}
	free(sizes);
	if (count == 0)
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "Buckets: no size has multiples of 'step' and at most 'area' "
				 "pixels: lower 'step', or raise 'area'");
	if (count > PARAMETER_SIZES_MAX)
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "Buckets: 'area', 'step' and 'ratio' give %u sizes, and there "
				 "may be %d: raise 'step', or lower 'ratio'",
				 count, PARAMETER_SIZES_MAX);
	return 0;
}

static int complete(struct transform *transform, struct fault *fault)
{
	struct parameter *area = &transform->values[AREA], *step = &transform->values[STEP];
	struct parameter *ratio = &transform->values[RATIO], *sizes = &transform->values[SIZES];
	if (!area->count && (step->count || ratio->count))
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "Buckets: 'step' and 'ratio' go with 'area': leave them out, or "
				 "give 'area'");
	if (!area->count == !sizes->count)
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "Buckets needs either 'sizes', a list of (height, width), or "
				 "'area', pixels of a picture");
	if (!area->count)
		return 0;
	int r = sizes_of_area(sizes, (int64_t)area->number[0],
			      step->count ? (int64_t)step->number[0] : 64,
			      ratio->count ? ratio->number[0] : 2, fault);
	*area = *step = *ratio = (struct parameter){0};
	return r;
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	const struct image_size to = size_list_get(&transform->values[SIZES], transform->bucket);
	double width = steps->size[0], height = steps->size[1];
	bool wide = (int64_t)steps->size[0] * to.height > (int64_t)to.width * steps->size[1];
	double scale = wide ? to.height / height : to.width / width;
	int r = steps_add_resize(steps, "Buckets", floor(width * scale + 0.5),
				 floor(height * scale + 0.5),
				 (enum filter)transform->values[INTERPOLATION].number[0], fault);
	if (r)
		return r;
	int32_t over_x = steps->size[0] - to.width, over_y = steps->size[1] - to.height;
	int32_t top = (int32_t)round_even(over_y / 2.0), left = (int32_t)round_even(over_x / 2.0);
	if (transform->values[CROP].number[0] == CROP_RANDOM) {
		top = draws_below(draws, 0, over_y + 1);
		left = draws_below(draws, 1, over_x + 1);
	}
	steps->crop = (struct rect){left, top, to.width, to.height};
	steps_add_window(steps, left, top, to.width, to.height);
	return 0;
}

/* clang-format off */
const struct transform_row transform_buckets = {
	.name = "Buckets",
	.parameters =
		{
			[SIZES] = {.name = "sizes", .type = PARAMETER_SIZES, .optional = true,
				   .least = 1, .most = TRANSFORM_EDGE_MAX},
			[AREA] = {.name = "area", .type = PARAMETER_WHOLE, .optional = true,
				  .least = 1, .most = IMAGE_PIXELS_MAX},
			[STEP] = {.name = "step", .type = PARAMETER_WHOLE, .optional = true,
				  .least = 1, .most = TRANSFORM_EDGE_MAX},
			[RATIO] = {.name = "ratio", .type = PARAMETER_NUMBER, .optional = true,
				   .least = 1, .most = TRANSFORM_EDGE_MAX},
			[CROP] = {.name = "crop", .type = PARAMETER_CHOICE,
				  .choices = &crop_choices, .standard = {1, {CROP_CENTER}}},
			[INTERPOLATION] = COMMON_FILTER,
			[ANTIALIAS] = COMMON_ANTIALIAS,
			[RUN] = {.name = "run", .type = PARAMETER_WHOLE, .optional = true,
				 .least = 1, .most = 1048576},
		},
	.complete = complete,
	.draw = draw,
	.pictures_only = true,
	.fixes_size = true,
	.wide = true,
};
/* clang-format on */
