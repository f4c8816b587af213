// SPDX-License-Identifier: MIT
#include "transform/transform_list.h"

#include <stdarg.h>

/* The size that all images have so far, if they have one. */
struct extent {
	bool sized;
	int32_t width, height;
};

/* What must be remembered from one transform to the next. */
struct check {
	struct transform_list *list;
	struct steps steps;    /* of the transform in hand */
	struct fault open;	     /* why images have no one size */
	unsigned at[TRANSFORM_LIST_DEPTH_MAX]; /* which transform is in hand, from the outer list to it */
	unsigned depth;
	bool tensor, fractions;
};

/* The words, and before them where it is: "transforms[1].transforms[0]: ". */
__attribute__((format(printf, 3, 4))) static int
check_say(const struct check *check, struct fault *fault, const char *format, ...)
{
	char where[TRANSFORM_LIST_DEPTH_MAX * 24] = "";
	struct fault words;
	va_list list;
	size_t size = 0;
	for (unsigned i = 0; i <= check->depth; i++)
		size += (size_t)snprintf(where + size, sizeof(where) - size, "%stransforms[%u]",
					 i ? "." : "", check->at[i]);
	va_start(list, format);
	vsnprintf(words.text, sizeof(words.text), format, list);
	va_end(list);
	return fault_say(fault, TRANSFORM_LIST_E_TRANSFORM, "%s: %s", where, words.text);
}

static bool holds(const struct transform *transform)
{
	return transform->row->parameters[0].type == PARAMETER_TRANSFORMS;
}

static bool resizes(const struct transform *transform)
{
	return transform->row->kind == TRANSFORM_RESIZE ||
	       transform->row->kind == TRANSFORM_RANDOM_RESIZED_CROP;
}

static bool fills(const struct transform *transform)
{
	const struct parameter *fill = &transform->values[PAD_FILL];
	if (transform->row->kind == TRANSFORM_RANDOM_CROP)
		fill = &transform->values[RANDOM_CROP_FILL];
	else if (transform->row->kind != TRANSFORM_PAD)
		return false;
	return fill->number[0] != 0 || fill->number[1] != 0 || fill->number[2] != 0;
}

/* The size that a transform gives to every image whatever it was, as (height, width). */
static const double *fixed_size(const struct transform *transform)
{
	switch (transform->row->kind) {
	case TRANSFORM_RESIZE: /* size is the first parameter of all of them */
		return transform->values[RESIZE_SIZE].count == 2
			       ? transform->values[RESIZE_SIZE].number
			       : NULL;
	case TRANSFORM_CENTER_CROP:
	case TRANSFORM_RANDOM_CROP:
	case TRANSFORM_RANDOM_RESIZED_CROP:
	case TRANSFORM_FIVE_CROP:
	case TRANSFORM_TEN_CROP:
		return transform->values[0].number;
	default:
		return NULL;
	}
}

/* The angle that is drawn decides how large the result is. */
static bool turns_open(const struct transform *transform)
{
	const double *degrees = transform->values[RANDOM_ROTATION_DEGREES].number;
	return transform->row->kind == TRANSFORM_RANDOM_ROTATION &&
	       transform->values[RANDOM_ROTATION_EXPAND].number[0] != 0.0 &&
	       degrees[0] != degrees[1];
}

/* Whether and how large images are behind a transform. */
static int check_extent(struct check *check, const struct transform *transform,
			struct extent *extent, struct fault *fault)
{
	struct steps *steps = &check->steps;
	const double *size = fixed_size(transform);
	const struct draw_key key = {0};
	struct fault why;
	bool crops =
		transform->row->kind == TRANSFORM_RANDOM_CROP || transform_views(transform) > 1;
	if (turns_open(transform)) {
		*extent = (struct extent){0};
		check_say(check, &check->open,
			  "RandomRotation with 'expand' makes images of a size for each angle: add "
			  "CenterCrop(size) or Resize((height, width)) behind it");
	} else if (extent->sized && (crops || !size)) {
		steps_begin(steps, extent->width, extent->height);
		if (steps_draw_one(steps, transform, 0, &key, &why) != 0)
			return check_say(check, fault, "%s", why.text);
		*extent = (struct extent){true, steps->size[0], steps->size[1]};
	} else if (size) {
		*extent = (struct extent){true, (int32_t)size[1], (int32_t)size[0]};
	} else if (transform->row->kind == TRANSFORM_RESIZE) {
		check_say(check, &check->open,
			  "Resize of one number fixes the shorter edge only, so images would come "
			  "out in different sizes: add CenterCrop(size) behind it, or give it "
			  "size=(height, width)");
	}
	return 0;
}

/* Crops of one picture are a sample's views: they are made once, and whatever is drawn. */
static int check_views(struct check *check, const struct transform *transform, struct fault *fault)
{
	struct transform_list *list = check->list;
	if (check->depth > 0 || list->views > 1)
		return check_say(check, fault, "%s stands %s: it makes %u views of a sample",
				 transform->row->name,
				 check->depth ? "inside of another transform"
					      : "behind another of its kind",
				 transform_views(transform));
	list->views = transform_views(transform);
	list->whole = list->count - 1;
	return 0;
}

static int check_place(struct check *check, const struct transform *transform, struct fault *fault)
{
	/* After ToTensor torchvision works on tensors, whose resize and fill are others. */
	if (check->tensor && (transform->row->pictures || fills(transform)))
		return check_say(check, fault,
				 "%s stands after ToTensor, where torchvision would %s numbers, "
				 "not bytes: put it before",
				 transform->row->name,
				 resizes(transform) ? "resize"
				 : fills(transform) ? "fill in"
						    : "change");
	return transform_views(transform) > 1 ? check_views(check, transform, fault) : 0;
}

/* Two ways that a sample may have gone: what holds for both. */
static struct extent check_meet(struct check *check, const char *name, struct extent one,
				struct extent other)
{
	if (one.sized && other.sized && one.width == other.width && one.height == other.height)
		return one;
	if (one.sized || other.sized)
		check_say(check, &check->open,
			  "images come out of %s in one size or another, as it is drawn: add "
			  "CenterCrop(size) or Resize((height, width)) behind it",
			  name);
	return (struct extent){0};
}

static int check_transform(struct check *check, const struct value *map, struct fault *fault);

/* What stands in a transform of the list. */
static int check_held(struct check *check, const char *name, const struct value *maps,
		      struct fault *fault)
{
	int r = 0;
	if (++check->depth == TRANSFORM_LIST_DEPTH_MAX) {
		check->depth--;
		return check_say(check, fault, "%s stands more than %d lists deep", name,
				 TRANSFORM_LIST_DEPTH_MAX);
	}
	for (uint32_t i = 0; i < maps->count && r == 0; i++) {
		check->at[check->depth] = i;
		r = check_transform(check, &maps->items[i], fault);
	}
	check->depth -= r == 0;
	return r;
}

/* How likely each of the transforms in number `at` is to be chosen. */
static int check_weights(struct check *check, unsigned at, const struct value *weights,
			 uint32_t count, struct fault *fault)
{
	struct transform *places = check->list->places;
	uint32_t n = 0;
	if (weights->count != count)
		return check_say(check, fault, "%s: 'p' has %u numbers for %u transforms",
				 places[at].row->name, weights->count, count);
	for (unsigned i = at + 1; i < check->list->count; i += 1 + places[i].behind)
		value_number(&weights->items[n++], &places[i].weight);
	return 0;
}

static int check_combined(struct check *check, const struct value *map, unsigned at,
			  struct fault *fault)
{
	struct transform *transform = &check->list->places[at];
	const struct value *maps = value_get(map, "transforms");
	int r = check_held(check, transform->row->name, maps, fault);
	transform->behind = check->list->count - at - 1;
	if (r == 0 && transform->row->kind == TRANSFORM_RANDOM_CHOICE &&
	    transform->values[COMBINED_P].count)
		r = check_weights(check, at, value_get(map, "p"), maps->count, fault);
	return r;
}

/* What does nothing to a picture's bytes, only to what is made of them: in the outer list only. */
static int check_value(struct check *check, const struct transform *transform, struct fault *fault)
{
	if (check->depth > 0)
		return check_say(check, fault,
				 "%s stands inside of another transform: put it "
				 "behind that",
				 transform->row->name);
	if (transform->row->kind == TRANSFORM_TO_TENSOR) {
		check->tensor = true;
		return 0;
	}
	if (!check->fractions)
		return check_say(check, fault,
				 "Normalize makes fractions, which dtype uint8 cannot hold: take "
				 "float32, float16 or bfloat16");
	check->list->normalize = *transform;
	check->list->normalized = true;
	return 0;
}

/* What works on numbers, behind all that works on pictures. */
static bool mixes(const struct transform *transform)
{
	return transform->row->kind == TRANSFORM_MIX_UP ||
	       transform->row->kind == TRANSFORM_CUT_MIX;
}

static int check_end(struct check *check, const struct transform *transform, struct fault *fault)
{
	struct transform_list *list = check->list;
	bool generator = transform->row->kind == TRANSFORM_IMAGE_DATA_GENERATOR;
	if (check->depth > 0)
		return check_say(check, fault,
				 "%s stands inside of another transform: put it behind that",
				 transform->row->name);
	if (generator && (check->tensor || list->normalized))
		return check_say(check, fault,
				 "ImageDataGenerator takes a picture and makes numbers of it "
				 "itself: it goes without ToTensor and Normalize");
	if (list->end_count && mixes(&list->ends[list->end_count - 1]))
		return check_say(check, fault, "%s stands after %s, which must be the last",
				 transform->row->name, list->ends[list->end_count - 1].row->name);
	if (mixes(transform) && !check->fractions)
		return check_say(check, fault,
				 "%s makes fractions, which dtype uint8 cannot hold: take "
				 "float32, float16 or bfloat16",
				 transform->row->name);
	if (list->end_count == TRANSFORM_LIST_ENDS_MAX)
		return check_say(check, fault, "%s is one more than may stand at the end",
				 transform->row->name);
	list->ends[list->end_count++] = *transform;
	return 0;
}

static bool is_end(const struct transform *transform)
{
	return transform->row->kind == TRANSFORM_IMAGE_DATA_GENERATOR ||
	       transform->row->kind == TRANSFORM_RANDOM_ERASING || mixes(transform);
}

static int check_transform(struct check *check, const struct value *map, struct fault *fault)
{
	struct transform_list *list = check->list;
	struct transform transform;
	struct fault why;
	if (transform_parse(&transform, map, &why) != 0)
		return check_say(check, fault, "%s", why.text);
	if (is_end(&transform))
		return check_end(check, &transform, fault);
	if (list->end_count)
		return check_say(check, fault,
				 "%s stands after %s, behind which there may be nothing but "
				 "RandomErasing, MixUp and CutMix",
				 transform.row->name, list->ends[0].row->name);
	if (list->normalized)
		return check_say(check, fault,
				 "%s stands after Normalize, which must be the last but for "
				 "RandomErasing, MixUp and CutMix",
				 transform.row->name);
	if (transform.row->kind == TRANSFORM_TO_TENSOR ||
	    transform.row->kind == TRANSFORM_NORMALIZE)
		return check_value(check, &transform, fault);
	if (list->count == TRANSFORMS_MAX)
		return check_say(check, fault,
				 "%s is one more than the %d transforms that a list "
				 "may have, with what they hold",
				 transform.row->name, TRANSFORMS_MAX);
	unsigned at = list->count++;
	list->places[at] = transform;
	list->numbers[at] = check->at[check->depth];
	if (holds(&transform))
		return check_combined(check, map, at, fault);
	return check_place(check, &transform, fault);
}

static int extent_of(struct check *check, unsigned at, struct extent *extent, struct fault *fault);

/* Behind transform number `at` of the list, which holds others. */
static int extent_of_held(struct check *check, unsigned at, struct extent *extent,
			  struct fault *fault)
{
	const struct transform *places = check->list->places;
	const char *name = places[at].row->name;
	enum transform_kind kind = places[at].row->kind;
	bool in_turn = kind == TRANSFORM_COMPOSE || kind == TRANSFORM_RANDOM_APPLY;
	struct extent before = *extent, way = before, all = before;
	for (unsigned n = at + 1; n <= at + places[at].behind; n += 1 + places[n].behind) {
		if (!in_turn)
			way = before;
		check->depth++;
		int r = extent_of(check, n, &way, fault);
		check->depth--;
		if (r)
			return r;
		if (!in_turn)
			all = n == at + 1 && kind == TRANSFORM_RANDOM_CHOICE
				      ? way
				      : check_meet(check, name, all, way);
	}
	*extent = kind == TRANSFORM_COMPOSE	   ? way
		  : kind == TRANSFORM_RANDOM_APPLY ? check_meet(check, name, before, way)
						   : all;
	return 0;
}

static int extent_of(struct check *check, unsigned at, struct extent *extent, struct fault *fault)
{
	const struct transform *transform = &check->list->places[at];
	check->at[check->depth] = check->list->numbers[at];
	if (holds(transform))
		return extent_of_held(check, at, extent, fault);
	return check_extent(check, transform, extent, fault);
}

/* What size images that come in as `extent` go out in, if it is one. */
static int check_size(struct check *check, struct extent extent, struct fault *fault)
{
	struct transform_list *list = check->list;
	check->open.text[0] = '\0';
	for (unsigned i = 0; i < list->count; i += 1 + list->places[i].behind) {
		int r = extent_of(check, i, &extent, fault);
		if (r)
			return r;
	}
	list->sized = extent.sized;
	list->width = extent.width;
	list->height = extent.height;
	return 0;
}

int transform_list_parse(struct transform_list *out, const struct value *value, bool fractions, struct fault *fault)
{
	struct check check = {.list = out, .fractions = fractions};
	out->views = 1;
	uint32_t count = value && value->kind == VALUE_LIST ? value->count : 0;
	if (value && value->kind != VALUE_LIST && value->kind != VALUE_NIL)
		return fault_say(fault, TRANSFORM_LIST_E_TRANSFORM, "transforms: must be a list, not a %s",
				 value_kind_name(value->kind));
	for (uint32_t i = 0; i < count; i++) {
		check.at[0] = i;
		int r = check_transform(&check, &value->items[i], fault);
		if (r)
			return r;
	}
	return check_size(&check, (struct extent){0}, fault);
}

int transform_list_settle(struct transform_list *list, int32_t width, int32_t height, struct fault *fault)
{
	struct check check = {.list = list};
	int r = check_size(&check, (struct extent){width > 0, width, height}, fault);
	if (r || list->sized)
		return r;
	return fault_say(fault, TRANSFORM_LIST_E_TRANSFORM, "%s",
			 check.open.text[0]
				 ? check.open.text
				 : "transforms: none of them gives the images one size: add "
				   "RandomResizedCrop(224), or Resize(256) and "
				   "CenterCrop(224)");
}

void transform_list_write(FILE *file, const struct transform_list *list)
{
	for (unsigned i = 0; i < list->count; i += 1 + list->places[i].behind) {
		transform_write(file, &list->places[i]);
		fputs("|", file);
	}
	if (list->normalized) {
		transform_write(file, &list->normalize);
		fputs("|", file);
	}
	for (unsigned i = 0; i < list->end_count; i++) {
		transform_write(file, &list->ends[i]);
		fputs("|", file);
	}
}
