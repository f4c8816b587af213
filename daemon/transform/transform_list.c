// SPDX-License-Identifier: MIT
#include "transform/transform_list.h"

#include <stdarg.h>

#include "proto/pack.h"
#include "transform/buckets/size_list.h"
#include "transform/list_channels.h"
#include "transform/registry.h"
#include "transform/steps_draw.h"

/* The one size that all images have at some place of the list, if they have one. */
struct extent {
	bool sized;
	int32_t width, height;
};

/* One check of a list, from transform to transform. */
struct check {
	struct transform_list *list;
	struct steps steps;		       /* of the transform that is checked */
	struct fault open;		       /* why images have several sizes */
	unsigned at[TRANSFORM_LIST_DEPTH_MAX]; /* its place: in the outer list, in the next ... */
	unsigned depth;
	bool tensor;	/* ToTensor stood before */
	bool fractions; /* the dtype can hold them */
};

/* The message, behind the place: "transforms[1].transforms[0]: ". */
__attribute__((format(printf, 3, 4))) static int
check_say(const struct check *check, struct fault *fault, const char *format, ...)
{
	char where[TRANSFORM_LIST_DEPTH_MAX * 24] = "";
	struct fault message;
	va_list list;
	size_t size = 0;
	for (unsigned i = 0; i <= check->depth; i++)
		size += (size_t)snprintf(where + size, sizeof(where) - size, "%stransforms[%u]",
					 i ? "." : "", check->at[i]);
	va_start(list, format);
	vsnprintf(message.text, sizeof(message.text), format, list);
	va_end(list);
	return fault_say(fault, TRANSFORM_LIST_E_TRANSFORM, "%s: %s", where, message.text);
}

static bool fills(const struct transform *transform)
{
	int at = transform_find(transform, PARAMETER_FILL);
	const double *fill = transform->values[at < 0 ? 0 : at].number;
	return at >= 0 && (fill[0] != 0 || fill[1] != 0 || fill[2] != 0);
}

/* The size of every result; a width of 0: it depends on the picture. */
static struct image_size fixed_size(const struct transform *transform)
{
	const struct transform_row *row = transform->row;
	if (transform_sizes(transform))
		return size_list_get(&transform->values[0], transform->bucket);
	const ptrdiff_t at = row->fixes_size ? transform_row_size(row) - row->parameters : 0;
	const struct parameter *size = &transform->values[at];
	if (!row->fixes_size || size->count != 2)
		return (struct image_size){0};
	return (struct image_size){(int32_t)size->number[1], (int32_t)size->number[0]};
}

/* The size of images behind a transform, from that before it. */
static int check_extent(struct check *check, const struct transform *transform,
			struct extent *extent, struct fault *fault)
{
	const struct transform_row *row = transform->row;
	const struct image_size size = fixed_size(transform);
	const char *unsized = row->unsized ? row->unsized(transform, extent->sized) : NULL;
	const struct draw_key key = {0};
	struct steps *steps = &check->steps;
	struct fault why;
	if (unsized) {
		*extent = (struct extent){0};
		check_say(check, &check->open, "%s", unsized);
	} else if (extent->sized && (row->refuses_size || !size.width)) {
		steps_begin(steps, extent->width, extent->height);
		if (steps_draw_one(steps, transform, 0, &key, &why) != 0)
			return check_say(check, fault, "%s", why.text);
		*extent = (struct extent){true, steps->size[0], steps->size[1]};
	} else if (size.width) {
		*extent = (struct extent){true, size.width, size.height};
	}
	return 0;
}

/* A transform that makes views stands once, and in the outer list. */
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
	list->before_views = list->count - 1;
	return 0;
}

static int check_picture(struct check *check, const struct transform *transform,
			 struct fault *fault)
{
	if (check->tensor && (transform->row->pictures_only || fills(transform)))
		return check_say(check, fault,
				 "%s stands after ToTensor, where torchvision would give other "
				 "results than for a picture: put it before",
				 transform->row->name);
	if (transform_sizes(transform) && (check->depth > 0 || check->list->sizes))
		return check_say(check, fault, "%s stands behind another, or inside of a transform",
				 transform->row->name);
	if (transform_sizes(transform))
		check->list->sizes = check->list->count;
	return transform_views(transform) > 1 ? check_views(check, transform, fault) : 0;
}

/* Images come in either of two sizes: the one size, if they are equal. */
static struct extent check_either(struct check *check, const char *name, struct extent one,
				  struct extent other)
{
	if (one.sized && other.sized && one.width == other.width && one.height == other.height)
		return one;
	if (one.sized || other.sized)
		check_say(check, &check->open,
			  "images come out of %s in one size or another, by what is drawn: add "
			  "CenterCrop(size) or Resize((height, width)) behind it",
			  name);
	return (struct extent){0};
}

static int check_transform(struct check *check, const struct value *map, struct fault *fault);

/* The transforms inside of another. */
static int check_held(struct check *check, const char *name, const struct value *maps,
		      struct fault *fault)
{
	int r = 0;
	if (++check->depth == TRANSFORM_LIST_DEPTH_MAX) {
		check->depth--;
		return check_say(check, fault, "%s stands more than %d lists deep", name,
				 TRANSFORM_LIST_DEPTH_MAX);
	}
	for (uint32_t i = 0; i < value_count(maps) && r == 0; i++) {
		check->at[check->depth] = i;
		r = check_transform(check, value_item(maps, i), fault);
	}
	check->depth -= r == 0;
	return r;
}

/* The weights of the transforms inside of `holder`, which stand behind it. */
static int check_weights(struct check *check, struct transform *holder, const struct value *map,
			 struct fault *fault)
{
	const struct value *weights = transform_value(holder, map, PARAMETER_WEIGHTS);
	uint32_t count = value_count(transform_value(holder, map, PARAMETER_TRANSFORMS)), n = 0;
	int at = transform_find(holder, PARAMETER_WEIGHTS);
	if (at < 0 || holder->values[at].count == 0)
		return 0;
	if (value_count(weights) != count)
		return check_say(check, fault, "%s: 'p' has %u numbers for %u transforms",
				 holder->row->name, value_count(weights), count);
	for (unsigned i = 1; i <= holder->behind; i += 1 + holder[i].behind)
		value_number(value_item(weights, n++), &holder[i].weight);
	return 0;
}

static int check_holder(struct check *check, const struct value *map, unsigned at,
			struct fault *fault)
{
	struct transform *transform = &check->list->pictures[at];
	const struct value *maps = transform_value(transform, map, PARAMETER_TRANSFORMS);
	int r = check_held(check, transform->row->name, maps, fault);
	transform->behind = check->list->count - at - 1;
	return r ? r : check_weights(check, transform, map, fault);
}

static bool is_picture_op(const struct transform_row *row)
{
	return row->add || row->draw || row->holds;
}

static bool is_tensor_op(const struct transform_row *row)
{
	return row->generate || row->change || transform_row_joins(row);
}

static int check_fractions(struct check *check, const struct transform_row *row,
			   struct fault *fault)
{
	if (!row->fractions || check->fractions)
		return 0;
	return check_say(check, fault,
			 "%s makes fractions, which dtype uint8 and uint16 cannot hold: take "
			 "float32, float16 or bfloat16",
			 row->name);
}

/* ToTensor, Normalize and transforms of arrays stand in the outer list only. */
static int check_outer(struct check *check, const struct transform_row *row, struct fault *fault)
{
	if (check->depth > 0)
		return check_say(check, fault,
				 "%s stands inside of another transform: put it behind that",
				 row->name);
	return check_fractions(check, row, fault);
}

/* Check the place of a transform of arrays: a generator stands first, a mixer last. */
static int check_tensor_op(struct check *check, const struct transform *transform,
			   struct fault *fault)
{
	struct transform_list *list = check->list;
	const struct transform_row *row = transform->row, *last = NULL;
	if (list->tensor_op_count)
		last = list->tensor_ops[list->tensor_op_count - 1].row;
	if (row->generate && (check->tensor || list->normalized))
		return check_say(check, fault,
				 "%s makes an array of the picture itself: it goes without "
				 "ToTensor and Normalize",
				 row->name);
	if (last && transform_row_joins(last))
		return check_say(check, fault, "%s stands after %s, which must be the last",
				 row->name, last->name);
	if (row->generate && last)
		return check_say(check, fault, "%s stands after %s: put %s", row->name,
				 last == row ? "another one" : last->name,
				 last == row ? "one of them only" : "it before");
	if (list->tensor_op_count == TRANSFORM_LIST_TENSOR_OPS_MAX)
		return check_say(check, fault,
				 "%s is one more than the %d transforms that may work on arrays",
				 row->name, TRANSFORM_LIST_TENSOR_OPS_MAX);
	list->tensor_ops[list->tensor_op_count++] = *transform;
	return 0;
}

/* Is it a choice in which at least one mixes? */
static bool is_choice_of_mixers(const struct transform *holder, const struct value *map)
{
	const struct value *maps = transform_value(holder, map, PARAMETER_TRANSFORMS);
	struct transform held;
	struct fault ignored;
	for (uint32_t i = 0; holder->row->holds == TRANSFORM_HOLDS_ONE_OF && i < value_count(maps);
	     i++)
		if (transform_parse(&held, value_item(maps, i), &ignored) == 0 && held.row->mix)
			return true;
	return false;
}

/* One of the transforms inside of a choice of mixers. */
static int check_mixer(struct check *check, const struct value *map, struct fault *fault)
{
	struct transform_list *list = check->list;
	struct transform mixer;
	struct fault why;
	if (transform_parse(&mixer, map, &why) != 0)
		return check_say(check, fault, "%s", why.text);
	if (!mixer.row->mix)
		return check_say(check, fault,
				 "%s stands in a choice with what mixes samples, which holds "
				 "MixUp and CutMix only: put it before",
				 mixer.row->name);
	if (list->tensor_op_count == TRANSFORM_LIST_TENSOR_OPS_MAX)
		return check_say(check, fault, "%s is one more than the %d that there may be",
				 mixer.row->name, TRANSFORM_LIST_TENSOR_OPS_MAX);
	list->tensor_ops[list->tensor_op_count++] = mixer;
	return check_fractions(check, mixer.row, fault);
}

/* A choice of mixers stands last, as a mixer does, with them behind it. */
static int check_mixers(struct check *check, const struct transform *choice,
			const struct value *map, struct fault *fault)
{
	const struct value *maps = transform_value(choice, map, PARAMETER_TRANSFORMS);
	struct transform *holder = &check->list->tensor_ops[check->list->tensor_op_count];
	int r = check_outer(check, choice->row, fault);
	r = r ? r : check_tensor_op(check, choice, fault);
	if (r)
		return r;
	check->depth++;
	for (uint32_t i = 0; i < value_count(maps) && r == 0; i++) {
		check->at[check->depth] = i;
		r = check_mixer(check, value_item(maps, i), fault);
	}
	check->depth -= r == 0;
	holder->behind = value_count(maps);
	return r ? r : check_weights(check, holder, map, fault);
}

/* Transforms of pictures, ToTensor and Normalize stand before transforms of arrays. */
static int check_order(struct check *check, const struct transform_row *row, struct fault *fault)
{
	const struct transform_list *list = check->list;
	const struct transform_row *before = NULL;
	if (list->normalized)
		before = list->normalize.row;
	if (list->tensor_op_count)
		before = list->tensor_ops[0].row;
	if (!before)
		return 0;
	return check_say(check, fault,
			 "%s stands after %s, where pictures have become arrays: put it before",
			 row->name, before->name);
}

/* A transform that does not work on pictures. */
static int check_value(struct check *check, const struct transform *transform, struct fault *fault)
{
	int r = check_outer(check, transform->row, fault);
	if (r)
		return r;
	if (is_tensor_op(transform->row))
		return check_tensor_op(check, transform, fault);
	r = check_order(check, transform->row, fault);
	if (r)
		return r;
	check->tensor |= transform->row->to_tensor;
	if (transform->row->normalize) {
		check->list->normalize = *transform;
		check->list->normalized = true;
	}
	return 0;
}

static int check_transform(struct check *check, const struct value *map, struct fault *fault)
{
	struct transform_list *list = check->list;
	struct transform transform;
	struct fault why;
	if (check->depth > 0 && text_equals(value_text(value_get(map, "name")), "Map"))
		return check_say(check, fault,
				 "Map stands inside of another transform: put it into the list "
				 "itself");
	if (transform_parse(&transform, map, &why) != 0)
		return check_say(check, fault, "%s", why.text);
	if (is_choice_of_mixers(&transform, map))
		return check_mixers(check, &transform, map, fault);
	if (!is_picture_op(transform.row))
		return check_value(check, &transform, fault);
	int r = check_order(check, transform.row, fault);
	if (r)
		return r;
	if (list->count == TRANSFORMS_MAX)
		return check_say(check, fault,
				 "%s is one more than the %d transforms that a list may have, with "
				 "those inside of others",
				 transform.row->name, TRANSFORMS_MAX);
	unsigned at = list->count++;
	list->pictures[at] = transform;
	list->numbers[at] = check->at[check->depth];
	list->padded |= transform.row->pads && transform.row->pads(&transform);
	if (transform.row->needs_boxes && !list->boxed)
		list->boxed = transform.row->name;
	if (transform.row->holds)
		return check_holder(check, map, at, fault);
	return check_picture(check, &transform, fault);
}

static int extent_of(struct check *check, unsigned at, struct extent *extent, struct fault *fault);

/*
 * Behind the transform at `at`, which holds others. If these run in order, each gets the images of
 * the one before it; else each may get those that `at` gets. If not all of them run, or if any of
 * them may be the last, images may also come out in the size in which they come in.
 */
static int extent_of_holder(struct check *check, unsigned at, struct extent *extent,
			    struct fault *fault)
{
	const struct transform *transforms = check->list->pictures;
	const char *name = transforms[at].row->name;
	enum transform_holds holds = transforms[at].row->holds;
	bool in_order = holds == TRANSFORM_HOLDS_ALL || holds == TRANSFORM_HOLDS_ALL_OR_NONE;
	struct extent before = *extent, behind = before, all = before;
	for (unsigned n = at + 1; n <= at + transforms[at].behind; n += 1 + transforms[n].behind) {
		if (!in_order)
			behind = before;
		check->depth++;
		int r = extent_of(check, n, &behind, fault);
		check->depth--;
		if (r)
			return r;
		if (!in_order && n == at + 1 && holds == TRANSFORM_HOLDS_ONE_OF)
			all = behind;
		else if (!in_order)
			all = check_either(check, name, all, behind);
	}
	if (holds == TRANSFORM_HOLDS_ALL)
		all = behind;
	else if (holds == TRANSFORM_HOLDS_ALL_OR_NONE)
		all = check_either(check, name, before, behind);
	*extent = all;
	return 0;
}

static int extent_of(struct check *check, unsigned at, struct extent *extent, struct fault *fault)
{
	const struct transform *transform = &check->list->pictures[at];
	check->at[check->depth] = check->list->numbers[at];
	if (transform->row->holds)
		return extent_of_holder(check, at, extent, fault);
	return check_extent(check, transform, extent, fault);
}

/* The size behind the whole list, for images of `extent` before it. */
static int check_size(struct check *check, struct extent extent, struct fault *fault)
{
	struct transform_list *list = check->list;
	check->open.text[0] = '\0';
	for (unsigned i = 0; i < list->count; i += 1 + list->pictures[i].behind) {
		int r = extent_of(check, i, &extent, fault);
		if (r)
			return r;
	}
	list->sized = extent.sized;
	list->width = extent.width;
	list->height = extent.height;
	return 0;
}

int transform_list_parse(struct transform_list *out, const struct transform_part *part,
			 bool fractions, struct fault *fault)
{
	const struct value *value = part->list;
	struct check check = {.list = out, .fractions = fractions};
	out->views = 1;
	uint32_t count = value_kind(value) == VALUE_LIST ? value_count(value) : 0;
	if (value_kind(value) != VALUE_LIST && value_kind(value) != VALUE_NIL)
		return fault_say(fault, TRANSFORM_LIST_E_TRANSFORM,
				 "transforms: must be a list, not a %s",
				 value_kind_name(value_kind(value)));
	for (uint32_t i = part->first; i < count && i < part->end; i++) {
		check.at[0] = i;
		int r = check_transform(&check, value_item(value, i), fault);
		if (r)
			return r;
	}
	out->tensor = check.tensor;
	int r = list_channels_check(out, fault);
	return r ? r : check_size(&check, (struct extent){0}, fault);
}

int transform_list_settle(struct transform_list *list, int32_t width, int32_t height,
			  struct fault *fault)
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

#define OUTER_MAX (TRANSFORMS_MAX + 1 + TRANSFORM_LIST_TENSOR_OPS_MAX)

/* Collect the transforms that are not inside of others, in the order in which they are written.
 * Returns how many. */
static uint32_t outer_transforms(const struct transform_list *list,
				 const struct transform *out[OUTER_MAX])
{
	uint32_t count = 0;
	for (unsigned i = 0; i < list->count; i += 1 + list->pictures[i].behind)
		out[count++] = &list->pictures[i];
	if (list->normalized)
		out[count++] = &list->normalize;
	for (unsigned i = 0; i < list->tensor_op_count; i += 1 + list->tensor_ops[i].behind)
		out[count++] = &list->tensor_ops[i];
	return count;
}

void transform_list_write(FILE *file, const struct transform_list *list)
{
	const struct transform *outer[OUTER_MAX];
	uint32_t count = outer_transforms(list, outer);
	for (uint32_t i = 0; i < count; i++) {
		transform_write(file, outer[i]);
		fputs("|", file);
	}
}

void transform_list_pack(struct packer *packer, const struct transform_list *list, bool exact)
{
	const struct transform *outer[OUTER_MAX];
	uint32_t count = outer_transforms(list, outer);
	for (uint32_t i = 0; i < count; i++)
		transform_pack(packer, outer[i], exact);
}

uint32_t transform_list_outer(const struct transform_list *list)
{
	const struct transform *outer[OUTER_MAX];
	return outer_transforms(list, outer);
}
