// SPDX-License-Identifier: MIT
#include "work/transform.h"

#include "work/axis.h"
#include "work/geometry.h"
#include "work/quote.h"

#define EDGES 1, TRANSFORM_EDGE_MAX
#define SIZE(type_)                                                                                \
	{                                                                                          \
		.name = "size", .type = type_, .required = true, .least = 1,                       \
		.most = TRANSFORM_EDGE_MAX                                                         \
	}
#define FILTERED                                                                                   \
	{                                                                                          \
		.name = "interpolation", .type = PARAMETER_FILTER, .standard = {                   \
			1,                                                                         \
			{FILTER_BILINEAR}                                                          \
		}                                                                                  \
	}
#define ANTIALIAS                                                                                  \
	{                                                                                          \
		.name = "antialias", .type = PARAMETER_IGNORED, .standard = { 1, {true} }          \
	}
#define PADDED .name = "padding", .type = PARAMETER_PADDING, .most = TRANSFORM_EDGE_MAX
#define FILLED                                                                                     \
	{                                                                                          \
		.name = "fill", .type = PARAMETER_FILL, .optional = true, .most = 255,             \
		.standard = {                                                                      \
			3,                                                                         \
			{0}                                                                        \
		}                                                                                  \
	}
#define BORDERED                                                                                   \
	{                                                                                          \
		.name = "padding_mode", .type = PARAMETER_BORDER, .standard = {                    \
			1,                                                                         \
			{BORDER_CONSTANT}                                                          \
		}                                                                                  \
	}
#define CHANCE                                                                                     \
	{                                                                                          \
		.name = "p", .type = PARAMETER_NUMBER, .most = 1, .standard = { 1, {0.5} }         \
	}

/* clang-format off */
static const struct transform_row rows[] = {
	{"Resize", TRANSFORM_RESIZE, {
		[RESIZE_SIZE] = SIZE(PARAMETER_EDGE),
		[RESIZE_INTERPOLATION] = FILTERED,
		[RESIZE_MAX_SIZE] = {.name = "max_size", .type = PARAMETER_WHOLE, .optional = true,
				     .least = 1, .most = TRANSFORM_EDGE_MAX},
		[RESIZE_ANTIALIAS] = ANTIALIAS}},
	{"CenterCrop", TRANSFORM_CENTER_CROP, {
		[CENTER_CROP_SIZE] = SIZE(PARAMETER_SIZE)}},
	{"RandomCrop", TRANSFORM_RANDOM_CROP, {
		[RANDOM_CROP_SIZE] = SIZE(PARAMETER_SIZE),
		[RANDOM_CROP_PADDING] = {PADDED, .optional = true},
		[RANDOM_CROP_PAD_IF_NEEDED] = {.name = "pad_if_needed", .type = PARAMETER_BOOLEAN,
					       .standard = {1, {false}}},
		[RANDOM_CROP_FILL] = FILLED,
		[RANDOM_CROP_PADDING_MODE] = BORDERED}},
	{"RandomResizedCrop", TRANSFORM_RANDOM_RESIZED_CROP, {
		[RANDOM_RESIZED_CROP_SIZE] = SIZE(PARAMETER_SIZE),
		[RANDOM_RESIZED_CROP_SCALE] = {.name = "scale", .type = PARAMETER_INTERVAL,
					       .most = 100, .standard = {2, {0.08, 1.0}}},
		[RANDOM_RESIZED_CROP_RATIO] = {.name = "ratio", .type = PARAMETER_INTERVAL,
					       .least = 0.0001, .most = 10000,
					       .standard = {2, {3.0 / 4.0, 4.0 / 3.0}}},
		[RANDOM_RESIZED_CROP_INTERPOLATION] = FILTERED,
		[RANDOM_RESIZED_CROP_ANTIALIAS] = ANTIALIAS}},
	{"RandomHorizontalFlip", TRANSFORM_RANDOM_HORIZONTAL_FLIP, {[RANDOM_FLIP_P] = CHANCE}},
	{"RandomVerticalFlip", TRANSFORM_RANDOM_VERTICAL_FLIP, {[RANDOM_FLIP_P] = CHANCE}},
	{"Pad", TRANSFORM_PAD, {
		[PAD_PADDING] = {PADDED, .required = true},
		[PAD_FILL] = FILLED,
		[PAD_PADDING_MODE] = BORDERED}},
	{"ToTensor", TRANSFORM_TO_TENSOR, {{0}}},
	{"Normalize", TRANSFORM_NORMALIZE, {
		[NORMALIZE_MEAN] = {.name = "mean", .type = PARAMETER_CHANNELS, .required = true,
				    .least = -1e6, .most = 1e6},
		/* Not near 0, so that no value of a table overflows. */
		[NORMALIZE_STD] = {.name = "std", .type = PARAMETER_CHANNELS, .required = true,
				   .least = 1e-6, .most = 1e6},
		[NORMALIZE_INPLACE] = {.name = "inplace", .type = PARAMETER_IGNORED,
				       .standard = {1, {false}}}}},
};
/* clang-format on */
#define ROWS (sizeof(rows) / sizeof(*rows))

static unsigned row_parameters(const struct transform_row *row)
{
	unsigned count = 0;
	while (count < TRANSFORM_PARAMETERS_MAX && row->parameters[count].name)
		count++;
	return count;
}

static int find_row(const struct transform_row **out, const struct value *map, struct fault *fault)
{
	struct quote quote;
	const char *names[ROWS + 1] = {NULL};
	const struct value *name = value_get(map, "name");
	if (!name || name->kind != VALUE_TEXT)
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "a transform is a map with its 'name' and parameters");
	for (unsigned i = 0; i < ROWS; i++) {
		if (text_equals(name->text, rows[i].name)) {
			*out = &rows[i];
			return 0;
		}
		names[i] = rows[i].name;
	}
	const char *nearest = quote_nearest(name->text.data, name->text.size, names);
	return fault_say(fault, TRANSFORM_E_VALUE, "there is no transform '%s'%s%s%s",
			 quote_bytes(&quote, name->text.data, name->text.size),
			 nearest ? " (did you mean '" : "", nearest ? nearest : "",
			 nearest ? "'?)" : "");
}

static int find_parameter(unsigned *out, const struct transform_row *row, struct text key,
			  struct fault *fault)
{
	struct quote quote;
	const char *names[TRANSFORM_PARAMETERS_MAX + 1] = {NULL};
	for (unsigned i = 0; i < row_parameters(row); i++) {
		names[i] = row->parameters[i].name;
		if (text_equals(key, names[i])) {
			*out = i;
			return 0;
		}
	}
	const char *nearest = quote_nearest(key.data, key.size, names);
	return fault_say(fault, TRANSFORM_E_VALUE, "%s has no parameter '%s'%s%s%s", row->name,
			 quote_bytes(&quote, key.data, key.size), nearest ? " (did you mean '" : "",
			 nearest ? nearest : "", nearest ? "'?)" : "");
}

static int parse_pair(struct transform *transform, bool *given, const struct pair *pair,
		      struct fault *fault)
{
	unsigned at = 0;
	struct fault why;
	if (text_equals(pair->key, "name"))
		return 0;
	int r = find_parameter(&at, transform->row, pair->key, fault);
	if (r)
		return r;
	given[at] = true;
	if (parameter_parse(&transform->values[at], &transform->row->parameters[at], &pair->value,
			    &why) != 0)
		return fault_say(fault, TRANSFORM_E_VALUE, "%s: %s", transform->row->name,
				 why.text);
	return 0;
}

static int check_resize(const struct transform *transform, struct fault *fault)
{
	const struct parameter *size = &transform->values[RESIZE_SIZE];
	const struct parameter *max_size = &transform->values[RESIZE_MAX_SIZE];
	if (max_size->count && size->count == 2)
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "Resize: 'max_size' goes with a 'size' of one number only");
	if (max_size->count && max_size->number[0] <= size->number[0])
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "Resize: 'max_size' must be greater than 'size'");
	return 0;
}

int transform_parse(struct transform *out, const struct value *map, struct fault *fault)
{
	struct transform parsed;
	bool given[TRANSFORM_PARAMETERS_MAX] = {false};
	int r = find_row(&parsed.row, map, fault);
	if (r)
		return r;
	for (unsigned i = 0; i < TRANSFORM_PARAMETERS_MAX; i++)
		parsed.values[i] = parsed.row->parameters[i].standard;
	for (uint32_t i = 0; i < map->count; i++) {
		r = parse_pair(&parsed, given, &map->pairs[i], fault);
		if (r)
			return r;
	}
	for (unsigned i = 0; i < row_parameters(parsed.row); i++) {
		if (parsed.row->parameters[i].required && !given[i])
			return fault_say(fault, TRANSFORM_E_VALUE, "%s needs '%s'",
					 parsed.row->name, parsed.row->parameters[i].name);
	}
	if (parsed.row->kind == TRANSFORM_RESIZE)
		r = check_resize(&parsed, fault);
	if (r == 0)
		*out = parsed;
	return r;
}

void transform_write(FILE *file, const struct transform *transform)
{
	const struct transform_row *row = transform->row;
	fprintf(file, "%s(", row->name);
	for (unsigned i = 0; i < row_parameters(row); i++) {
		fprintf(file, "%s%s=", i ? ", " : "", row->parameters[i].name);
		parameter_write(file, &row->parameters[i], &transform->values[i]);
	}
	fputs(")", file);
}
